"""Artefacts: manifests, the files that they name, and what is made of them when a process starts."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from models import artefact
from models.artefact import MANIFEST, ArtefactError
from models.executors.golden import replay
from models.executors.onnx import OnnxGraph, ProviderUnavailable
from models.executors.trees.cbm import UnreadableTrees, read_trees
from services.assembly import assemble
from services.metrics import Metrics
from services.variables import SettingsError
from tests.fuzz import raw, trees, wire
from tests.fuzz.target import Decoder, Target
from tests.fuzz.tenants import ARTEFACTS, PROJECT, settings

REFUSED_AT_START = (ArtefactError, LookupError, ProviderUnavailable, RuntimeError, SettingsError)
"""What keeps a process alive, not ready, and saying why; see ``services.bento``."""
_PATHS = ("..", ".", "", "/etc/passwd", "../ensemble.onnx", "a/b", "a\0b", "manifest.json", "ensemble.onnx ", "\\", "~")


def manifests(task: str) -> Callable[[Path], Decoder]:
    """Manifests beside files that are as they should be, read and checked."""

    def opened(folder: Path) -> Decoder:
        place, sample = _copied(task, folder)

        def read(case: bytes) -> None:
            (place / MANIFEST).write_bytes(case)
            found = artefact.read(place, task)
            for file in found.manifest.files:
                assert found.path(file).parent == place, "a file outside the artefact"

        return Decoder([sample], read, (ArtefactError,), _manifest)

    return opened


def starts(task: str) -> Callable[[Path], Decoder]:
    """Manifests up to a tenant that has answered its golden inputs again."""

    def opened(folder: Path) -> Decoder:
        place, sample = _copied(task, folder)

        def read(case: bytes) -> None:
            (place / MANIFEST).write_bytes(case)
            found = artefact.read(place, task)
            assembled = assemble(found, settings(task), Metrics(task, CollectorRegistry()))
            try:
                assembled.tenant.warm_up()
            finally:
                assembled.close()

        return Decoder([sample], read, REFUSED_AT_START, _manifest, most_seconds=5.0, most_bytes=1 << 30)

    return opened


def golden(folder: Path) -> Decoder:
    """Files of golden inputs, replayed."""
    source = PROJECT / "artefacts" / "vessel" / ARTEFACTS["vessel"]
    graph = OnnxGraph(source / "ensemble.onnx")
    place = folder / "golden.npz"

    def read(case: bytes) -> None:
        place.write_bytes(case)
        replay(graph, place, 1e-4)

    return Decoder([(source / "golden.npz").read_bytes()], read, (ArtefactError,))


def graphs(folder: Path) -> Decoder:
    """Graphs: changed field by field, their weights outside the file, their sizes claimed."""
    place = folder / "graph.onnx"

    def read(case: bytes) -> None:
        place.write_bytes(case)
        graph = OnnxGraph(place)
        assert graph.inputs is not None

    def make(rng: random.Random, sample: bytes) -> bytes:
        return wire.mutated(rng, sample) if rng.random() < 0.8 else raw.mutated(rng, sample)

    samples = [(PROJECT / "artefacts" / "vessel" / ARTEFACTS["vessel"] / "ensemble.onnx").read_bytes()]
    return Decoder(samples, read, (ArtefactError,), make, most_seconds=5.0, most_bytes=1 << 30)


def tree_files(folder: Path) -> Decoder:
    """CatBoost models as compact tables; the flatbuffer's offsets lie near the start."""
    place = folder / "model.cbm"
    content = (PROJECT / "artefacts" / "weather" / ARTEFACTS["weather"] / "precipitation-1.cbm").read_bytes()

    def read(case: bytes) -> None:
        place.write_bytes(case)
        read_trees(place)

    def make(rng: random.Random, sample: bytes) -> bytes:
        near = rng.choice((64, 512, 4096, 1 << 15))
        where = rng.choice((0, max(len(sample) - near, 0)))
        part = raw.mutated(rng, sample[where : where + near])
        return sample[:where] + part + sample[where + near :]

    return Decoder([content], read, (UnreadableTrees,), make)


def _copied(task: str, folder: Path) -> tuple[Path, bytes]:
    """A copy of a reference artefact, and its manifest."""
    place = folder / "artefact"
    artefact.copy(artefact.read(PROJECT / "artefacts" / task / ARTEFACTS[task]), place)
    return place, (place / MANIFEST).read_bytes()


def _manifest(rng: random.Random, sample: bytes) -> bytes:
    if rng.random() < 0.7:
        return trees.mutated(rng, sample)
    document: dict[str, Any] = json.loads(sample)
    name = rng.choice(sorted(document["files"]))
    other = rng.choice(_PATHS)
    kind = rng.randrange(4)
    if kind == 0:
        document["files"][other] = document["files"].pop(name)
    elif kind == 1:
        document["executor"]["file"] = other
    elif kind == 2:
        document["files"][other] = hashlib.sha256(b"").hexdigest()
        document["golden"] = other
    else:
        document["executor"], document["golden"] = {"kind": "onnx", "file": document["golden"]}, name
    return json.dumps(document).encode()


TARGETS: dict[str, Target] = {
    "manifests": Target(800, manifests("vessel")),
    "starts-vessel": Target(120, starts("vessel"), apart=True),
    "golden": Target(800, golden),
    "graphs": Target(400, graphs, apart=True),
    "trees": Target(1_000, tree_files),
}
