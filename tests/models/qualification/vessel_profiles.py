"""The vessel ensemble computed in other ways on this CPU: layouts of the graph and precisions of its weights.

``python -m tests.models.qualification.vessel_profiles`` prints the table of docs/qualification.md.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import numpy_helper

from models.artefact import MANIFEST
from models.manifest import Manifest
from models.qualification.head import HeadVerdict, judge_head
from models.qualification.intervals import Means
from models.qualification.replayed import replayed

ARTEFACT = Path("artefacts/vessel/dnn-10")
BATCHES = (1, 7, 64)
WEIGHTS = ("c0", "c2", "c4")
"""Of the three layers, [members, inputs, outputs]."""
MEMBERS = 10

Array = NDArray[np.float32]
Outputs = tuple[Array, Array, Array]
"""Mean in kW, mean variance and variance of means in kW², [n]."""
Change = Callable[[Array], Array]


@cache
def model() -> onnx.ModelProto:
    return onnx.load(ARTEFACT / "ensemble.onnx")


@cache
def manifest() -> Manifest:
    return msgspec.json.decode((ARTEFACT / MANIFEST).read_bytes(), type=Manifest)


@cache
def rows(count: int = 4000) -> Array:
    """Rows between pairs of the artefact's golden rows, in its training range."""
    rng = np.random.default_rng(23)
    with np.load(ARTEFACT / manifest().golden) as golden:
        known = golden["rows"] if "rows" in golden else golden[golden.files[0]]
    first, second = rng.integers(0, len(known), (2, count))
    share = rng.random((count, 1))
    mixed = (share * known[first] + (1 - share) * known[second]).astype(np.float32)
    limits = manifest().training_range
    return mixed if limits is None else np.clip(mixed, np.float32(limits.lower), np.float32(limits.upper))


def changed(change: Change | None = None, member: int | None = None) -> bytes:
    """The graph with other weights, or of one member alone."""
    edited = onnx.ModelProto()
    edited.CopyFrom(model())
    for each in edited.graph.initializer:
        values = numpy_helper.to_array(each)
        if change is not None and each.name in WEIGHTS:
            values = change(values).astype(np.float32)
        if member is not None and values.ndim == 3:
            values = values[member : member + 1]
        each.CopyFrom(numpy_helper.from_array(values, each.name))
    return edited.SerializeToString()


def run(graph: bytes, inputs: Array, batch: int, names: tuple[str, ...] = ("mean", "mvar", "varm")) -> list[Array]:
    """Outputs of passes of at most ``batch`` rows, joined along the last axis."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    parts = [session.run(names, {"rows": inputs[start : start + batch]}) for start in range(0, len(inputs), batch)]
    return [np.concatenate([part[i] for part in parts], axis=-1) for i in range(len(names))]


def stacked(change: Change | None, inputs: Array, batch: int) -> Outputs:
    mean, mvar, varm = run(changed(change), inputs, batch)
    return mean.ravel(), mvar.ravel(), varm.ravel()


def split(inputs: Array, batch: int) -> Outputs:
    """Members as single graphs, joined in float32 in another order of sums."""
    parts = [run(changed(member=i), inputs, batch, ("member_mean", "member_var")) for i in range(MEMBERS)]
    means, variances = (np.stack([part[i].ravel() for part in parts], axis=1) for i in range(2))
    mean = means.sum(axis=1) / np.float32(MEMBERS)
    varm = ((means - mean[:, None]) ** 2).sum(axis=1) / np.float32(MEMBERS)
    return mean, variances.sum(axis=1) / np.float32(MEMBERS), varm


def bits(count: int) -> Change:
    """Weights with so many bits of mantissa, of which the first is implicit."""

    def rounded(values: Array) -> Array:
        mantissa, exponent = np.frexp(values)
        return np.ldexp(np.round(mantissa * 2.0**count) / 2.0**count, exponent).astype(np.float32)

    return rounded


def integers(count: int) -> Change:
    """Weights as integers of so many bits, a scale for each member and output."""

    def rounded(values: Array) -> Array:
        scale = np.abs(values).max(axis=1, keepdims=True) / (2 ** (count - 1) - 1)
        return (np.round(values / scale) * scale).astype(np.float32)

    return rounded


def noise(size: float) -> Change:
    """Weights times 1 + normal noise."""
    return lambda values: values * (1 + size * np.random.default_rng(5).normal(size=values.shape)).astype(np.float32)


def permuted(values: Array) -> Array:
    """The first layer's inputs of another order: a damaged graph."""
    return values[:, ::-1] if values.shape[1] == 10 else values


PROFILES: dict[str, Callable[[Array, int], Outputs]] = {
    "the same graph, batch 1, 7, 64": lambda inputs, batch: stacked(None, inputs, batch),
    "members as single graphs": split,
    "weights with 20 bits": lambda inputs, batch: stacked(bits(20), inputs, batch),
    "weights with 16 bits": lambda inputs, batch: stacked(bits(16), inputs, batch),
    "weights in float16 (11 bits)": lambda inputs, batch: stacked(bits(11), inputs, batch),
    "weights in bfloat16 (8 bits)": lambda inputs, batch: stacked(bits(8), inputs, batch),
    "weights as 8-bit integers": lambda inputs, batch: stacked(integers(8), inputs, batch),
    "weights × (1 + 1e-6 noise)": lambda inputs, batch: stacked(noise(1e-6), inputs, batch),
    "weights × (1 + 1e-3 noise)": lambda inputs, batch: stacked(noise(1e-3), inputs, batch),
    "first layer reversed": lambda inputs, batch: stacked(permuted, inputs, batch),
    "scores in float16": lambda inputs, batch: scores_only(inputs, batch, bits(11)),
    "scores in bfloat16": lambda inputs, batch: scores_only(inputs, batch, bits(8)),
    "variance in another unit (× 1.5)": lambda inputs, batch: scores_only(inputs, batch, lambda u: u * np.float32(1.5)),
}


def scores_only(inputs: Array, batch: int, change: Change) -> Outputs:
    """The same graph, its variances changed after it."""
    mean, mvar, varm = stacked(None, inputs, batch)
    return mean, change(mvar), change(varm)


@cache
def judged(name: str, count: int = 4000) -> HeadVerdict:
    """Verdict of a profile against the artefact's graph at batch 8, the batch of its executor."""
    inputs = rows(count)
    reference = stacked(None, inputs, 8)
    outputs = [PROFILES[name](inputs, batch) for batch in BATCHES]
    first = _measures(reference)
    rest = [_measures(each) for each in outputs]
    scores = {each: replayed(first[each], np.stack([measures[each] for measures in rest])) for each in first}
    means = Means(
        reference[0], first["tvar"], np.stack([each[0] for each in outputs]), np.stack([each["tvar"] for each in rest])
    )
    return judge_head(manifest().heads["power"]["cpu-fp32-stacked"], scores, means)


def _measures(outputs: Outputs) -> dict[str, Array]:
    _, mvar, varm = outputs
    return {"tvar": mvar + varm, "mvar": mvar, "varm": varm}


def table() -> str:
    lines = [
        "| computed as | verdict | rank correlation | flips, worst threshold | mean shift of means, sd | why |",
        "|---|---|---|---|---|---|",
    ]
    for name in PROFILES:
        result = judged(name)
        own = result.measures["tvar"]
        means = 0.0 if result.means is None else result.means.mean
        lines.append(
            f"| {name} | {result.verdict} | {own.correlation:.7f} | {own.flips:.4%} | {means:.2g} | {result.reason} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
