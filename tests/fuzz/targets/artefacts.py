"""Artefacts: manifests, the files that they name, and what is made of them when a process starts."""

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry

from models import artefact, npz
from models.artefact import MANIFEST, ArtefactError
from models.executors.golden import replay
from models.executors.onnx import OnnxGraph, ProviderUnavailable
from models.executors.trees.cbm import UnreadableTrees, read_trees
from models.rows import replay_set as forecasts
from models.tasks.lesion.artefact import replay_set as scans
from models.tasks.motion.artefact import replay_set as plans
from models.tasks.motion.inference.grid import Grid
from models.tasks.translation.artefact import replay_set as sentences
from services.app.assembly import assemble
from services.request.metrics import Metrics
from services.runtime.variables import SettingsError
from tests.fuzz import made, raw, trees, wire
from tests.fuzz.target import Decoder, Target
from tests.fuzz.tenants import ARTEFACTS, PROJECT, settings

REFUSED_AT_START = (ArtefactError, LookupError, ProviderUnavailable, RuntimeError, SettingsError)
"""Errors that leave a process alive and not ready, with a reason; see ``services.app.process``."""
_REPLAY_BYTES = 1 << 20
_PATHS = ("..", ".", "", "/etc/passwd", "../ensemble.onnx", "a/b", "a\0b", "manifest.json", "ensemble.onnx ", "\\", "~")


def manifests(task: str) -> Callable[[Path], Decoder]:
    """Manifests beside files that are as they should be, read and checked."""

    def opened(folder: Path) -> Decoder:
        place, sample = _copied(task, folder)

        def read(case: bytes) -> None:
            (place / MANIFEST).write_bytes(case)
            source = artefact.read(place, task)
            for file in source.manifest.files:
                assert source.path(file).parent == place, "a file outside the artefact"

        return Decoder([sample], read, (ArtefactError,), _manifest)

    return opened


def starts(task: str) -> Callable[[Path], Decoder]:
    """Manifests up to a tenant that has answered its golden inputs again."""

    def opened(folder: Path) -> Decoder:
        place, sample = _copied(task, folder)

        def read(case: bytes) -> None:
            (place / MANIFEST).write_bytes(case)
            source = artefact.read(place, task)
            assembled = assemble(source, settings(task), Metrics(task, CollectorRegistry()))
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


def replays(folder: Path) -> Decoder:
    """Inputs of replay sets, of each task; what is read can be scored."""
    grid = made.grid()

    def read(case: bytes) -> None:
        arrays = npz.decode(case, _REPLAY_BYTES)
        assert sum(array.nbytes for array in arrays.values()) <= _REPLAY_BYTES
        taken = 0
        for task in (_sentences, _rows, _scans, partial(_maps, grid)):
            try:
                task(arrays)
                taken += 1
            except npz.BadArrays:
                continue
        if not taken:
            raise npz.BadArrays("inputs of no task")

    draw = np.random.default_rng(0)
    drawn = np.zeros((2, *grid.shape), np.float32)
    drawn[:, ::5, ::8, 3:9] = 1.5
    crop = {"flair": draw.integers(0, 255, (4, 4, 4)).astype(np.uint8)}
    samples = [
        sentences.encode(["One sentence.", "Another, longer sentence."], ["Überall."]),
        forecasts.encode(draw.standard_normal((4, 3)), draw.standard_normal((2, 3)), 5),
        scans.encode([crop, crop]),
        plans.packed(list(drawn)),
    ]
    return Decoder(samples, read, (npz.BadArrays,), _archive)


def _sentences(arrays: Mapping[str, NDArray[Any]]) -> None:
    assert all(sentences.decoded(arrays))


def _rows(arrays: Mapping[str, NDArray[Any]]) -> None:
    rows = forecasts.decoded(arrays)
    assert rows.ndim == 2
    assert rows.flags.c_contiguous


def _scans(arrays: Mapping[str, NDArray[Any]]) -> None:
    assert all(scan.flair.ndim == 3 for scan in scans.scans(arrays, ("flair",)))


def _maps(grid: Grid, arrays: Mapping[str, NDArray[Any]]) -> None:
    maps = plans.Maps(arrays, grid)
    for number in range(min(len(maps), 4)):
        assert maps.rows(slice(number, number + 1)).shape == (1, int(np.prod(grid.shape)))


def _archive(rng: random.Random, sample: bytes) -> bytes:
    """An archive with changed bytes, or with an entry whose header or numbers are changed."""
    if rng.random() < 0.3:
        return raw.mutated(rng, sample)
    with zipfile.ZipFile(io.BytesIO(sample)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(entries))
    content = entries[name]
    start = rng.choice((0, 0, 60, 128))
    entries[name] = content[:start] + raw.mutated(rng, content[start : start + 256]) + content[start + 256 :]
    if rng.random() < 0.1:
        entries[rng.choice(("rows.npy", "flair.npy", "text.npy", "a.txt", "../rows.npy"))] = entries.pop(name)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, packed in entries.items():
            archive.writestr(entry, packed)
    return buffer.getvalue()


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
    "replays": Target(1_000, replays),
    "graphs": Target(400, graphs, apart=True),
    "trees": Target(1_000, tree_files),
}
