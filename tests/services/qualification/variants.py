"""Vessel artefacts that compute on this CPU what another device might: calibrated under one numeric profile, run under
another."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
from onnx import helper, numpy_helper

from models import artefact, replay
from models.artefact import Artefact
from models.tasks.vessel.artefact import replay_set
from simulators.vessel.dataset import simulate

PROJECT = Path(__file__).resolve().parents[3]
MODEL = PROJECT / "artefacts" / "vessel" / "dnn-10"
Change = Callable[[Any], None]
"""Changes an ``onnx.ModelProto`` in place."""


def replayable(folder: Path) -> Artefact:
    """The reference artefact with a replay set, in a folder of its own."""
    source = artefact.read(MODEL, "vessel")
    files = {name: source.path(name) for name in source.manifest.files}
    copy = artefact.write(folder, source.manifest, files)
    if copy.manifest.replay is not None:
        return copy
    data = simulate(0.25, 0)
    content = replay_set.encode(data["dev_in"].features, data["dev_out"].features)
    return replay.attach(copy, content, "simulated")


def variant(source: Artefact, folder: Path, change: Change, precision: str = "fp16") -> Artefact:
    """The artefact with another graph under another precision; its tables and replay set stay those of the first."""
    manifest = source.manifest
    model = onnx.load_from_string(source.path(manifest.executor.file).read_bytes())
    change(model)
    files: dict[str, Any] = {name: source.path(name) for name in manifest.files}
    files[manifest.executor.file] = model.SerializeToString(deterministic=True)
    executor = msgspec.structs.replace(manifest.executor, precision=precision)
    return artefact.write(folder, msgspec.structs.replace(manifest, executor=executor), files)


def rounded(bits: int) -> Change:
    """Weights with so many bits of mantissa (float32 has 23, TF32 and float16 10, bfloat16 7)."""

    def change(model: Any) -> None:
        for tensor in model.graph.initializer:
            values = numpy_helper.to_array(tensor)
            if values.dtype == np.float32:
                mantissa, exponent = np.frexp(values.astype(np.float64))
                exact = np.ldexp(np.round(mantissa * 2 ** (bits + 1)) / 2 ** (bits + 1), exponent)
                tensor.CopyFrom(numpy_helper.from_array(exact.astype(np.float32), tensor.name))

    return change


def scaled(factor: float) -> Change:
    """Variances multiplied: the same order on another scale."""

    def change(model: Any) -> None:
        _after(model, ("mvar", "varm"), lambda name, out: helper.make_node("Mul", [name, "factor"], [out]))
        model.graph.initializer.append(numpy_helper.from_array(np.float32(factor), "factor"))

    return change


def disordered(model: Any) -> None:
    """Variances that have little to do with what was calibrated: their own square root beside the mean's size."""
    _after(model, ("mvar",), lambda name, out: helper.make_node("Add", [f"{name}.root", "mean"], [out]))
    for node in list(model.graph.node):
        if node.output and node.output[0] == "mvar":
            source = node.input[0].removesuffix(".root")
            position = list(model.graph.node).index(node)
            model.graph.node.insert(position, helper.make_node("Sqrt", [source], [f"{source}.root"]))


def not_finite(model: Any) -> None:
    """Variances beyond float32, as a device that computes in half precision may give."""
    scaled(1e38)(model)


def _after(model: Any, outputs: tuple[str, ...], make: Callable[[str, str], Any]) -> None:
    """Puts a node behind each of some outputs, which keep their names."""
    for output in outputs:
        inner = f"{output}.inner"
        for node in model.graph.node:
            node.output[:] = [inner if name == output else name for name in node.output]
            node.input[:] = [inner if name == output else name for name in node.input]
        model.graph.node.append(make(inner, output))
