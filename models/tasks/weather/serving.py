"""From a verified weather artefact to what answers: its heads and its members."""

from __future__ import annotations

from typing import Literal

from models.artefact import Artefact, Executor
from models.executors.graph_members import GraphMembers
from models.executors.members import Joined, MemberExecutor
from models.executors.onnx import OnnxGraph
from models.executors.trees import TreeEnsemble
from models.head import Head
from models.tasks.weather.spec import HEADS


def heads(artefact: Artefact) -> tuple[Head, ...]:
    """The task's heads that this artefact has."""
    return tuple(head for head in HEADS if head.name in artefact.manifest.heads)


def members(artefact: Artefact, *, provider: Literal["cpu", "cuda"] = "cpu", threads: int = 1) -> MemberExecutor:
    """All members of all executors.

    Raises:
        ArtefactError: a file is damaged, or of another kind than the manifest says.
        ProviderUnavailable: CUDA was asked for and is not there.
    """
    manifest = artefact.manifest
    parts = [_open(artefact, one, provider, threads) for one in (manifest.executor, *manifest.joined)]
    return parts[0] if len(parts) == 1 else Joined(parts)


def _open(artefact: Artefact, executor: Executor, provider: Literal["cpu", "cuda"], threads: int) -> MemberExecutor:
    names = tuple(head.name for head in heads(artefact))
    if executor.kind == "onnx":
        return GraphMembers(OnnxGraph(artefact.path(executor.file), provider=provider, threads=threads), names)
    files = {head: tuple(map(artefact.path, executor.models[head])) for head in names}
    return TreeEnsemble(files, artefact.schema, threads=threads, virtual=executor.virtual)
