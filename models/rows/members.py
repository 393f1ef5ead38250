"""Members of a verified artefact of rows, of all its executors."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from models.artefact import Artefact, ArtefactError
from models.executors.device import CPU, Device
from models.executors.graph_members import GraphMembers
from models.executors.members import Joined, MemberExecutor
from models.executors.onnx import OnnxGraph
from models.executors.trees.ensemble import TreeEnsemble
from models.executors.trees.library import InProcess, Library
from models.head import Head
from models.manifest import Executor
from models.profile import Provider
from models.schema import Schema

ROWS_PER_PASS: dict[Provider, int] = {"cpu": 8, "cuda": 1024}
"""Largest number of rows in one pass over a Transformer; on a CPU, activations then stay in the core's cache."""


def members(
    artefact: Artefact, heads: Sequence[Head], *, device: Device = CPU, library: Callable[[], Library] = InProcess
) -> MemberExecutor:
    """Return all members of all executors of an artefact.

    Args:
        library: see ``opened``.

    Raises:
        ArtefactError: the number of members differs from the manifest, or see ``opened``.
        ProviderUnavailable: see ``opened``.
    """
    manifest = artefact.manifest
    executor = opened(artefact.path, manifest.executors, artefact.schema, heads, device=device, library=library)
    expected = manifest.members * manifest.samples
    for name, predictions in executor(np.zeros((1, len(artefact.schema)), np.float32)).items():
        if len(predictions) != expected:
            raise ArtefactError(
                f"{artefact.directory}: {len(predictions)} members of {name}, the manifest says {expected}"
            )
    return executor


def opened(
    path: Callable[[str], Path],
    executors: Sequence[Executor],
    schema: Schema,
    heads: Sequence[Head],
    *,
    device: Device = CPU,
    library: Callable[[], Library] = InProcess,
) -> MemberExecutor:
    """Return all members of all executors; CatBoost runs on the CPU with any provider.

    Args:
        path: returns the path of an executor's file.
        library: opens the CatBoost library that the tables of trees are compared with.

    Raises:
        ArtefactError: a file is damaged, or of another kind than the executor's.
        ProviderUnavailable: CUDA was requested and is not available.
    """

    by_name = {head.name: head for head in heads}
    names = tuple(by_name)

    def part(executor: Executor) -> MemberExecutor:
        if executor.kind == "onnx":
            return GraphMembers(
                OnnxGraph(path(executor.file), device=device), names, pass_rows=ROWS_PER_PASS[device.provider]
            )
        if without := [name for name in names if not executor.models.get(name)]:
            raise ArtefactError(f"the manifest names no CatBoost models of {', '.join(without)}")
        files = {name: [path(file) for file in executor.models[name]] for name in names}
        return TreeEnsemble(files, by_name, schema, threads=device.threads, virtual=executor.virtual, library=library)

    parts = [part(executor) for executor in executors]
    return parts[0] if len(parts) == 1 else Joined(parts)
