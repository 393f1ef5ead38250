"""ONNX graphs as sources: what their outputs mean for the targets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from models.executors.graph import Graph, Value
from models.schema import Schema
from models.tasks.rows.data.table import listed
from models.tasks.rows.refusal import Refused
from models.tasks.rows.sources.onnx_file import OnnxFile
from models.tasks.rows.sources.source import Output

WORDS = ("mean", "variance", "deviation", "log_variance", "probabilities", "logits")
"""Meanings of values that a caller may name."""
_SPREAD = {
    "variance": re.compile(r"(?<!log_)(?<!log)var(iance)?$|(?<!log_)(?<!log)var(iance)?_", re.IGNORECASE),
    "deviation": re.compile(r"std|sigma|scale|deviation|stddev", re.IGNORECASE),
    "log_variance": re.compile(r"log_?var(iance)?", re.IGNORECASE),
}
_SUMS_TO_ONE = 1e-3


@dataclass(frozen=True)
class Wish:
    """What the user says of targets and outputs."""

    targets: tuple[str, ...]
    classes: tuple[bool, ...]
    """True for targets that are classes."""
    words: tuple[str, ...] = ()
    """Meaning of each value of a row; empty to find out."""
    levels: tuple[float, ...] = ()
    """Levels of the quantiles that the values are; empty if they are none."""


@dataclass(frozen=True)
class _Part:
    """Values of a target: output and columns of it."""

    output: str
    columns: tuple[int, ...]
    word: str


@dataclass(frozen=True)
class OnnxSource:
    """A trained model as a graph whose outputs have a meaning."""

    file: OnnxFile
    family: str
    parts: tuple[tuple[_Part, ...], ...]
    """Parts of each target."""
    outputs: tuple[Output, ...]
    names: tuple[str, ...] = ()
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Number of columns; 0 for any."""
        return self.file.width

    @property
    def texts(self) -> Sequence[int]:
        """Positions of the columns that are texts."""
        return self.file.texts

    @property
    def trees(self) -> bool:
        """True if it runs on a CPU only."""
        return self.file.trees

    def raw(self, graph: Graph, rows: Value, schema: Schema) -> list[Value]:
        """Add the model to a graph; return its raw outputs [N, K] of each target."""
        values = self.file.values(graph, rows, schema)
        return [_joined(graph, [_converted(graph, values[p.output], p) for p in parts]) for parts in self.parts]

    def run(self, rows: NDArray[np.float32], schema: Schema) -> list[NDArray[np.float64]]:
        """Return the raw outputs [n, K] of each target by the model alone."""
        outputs = evaluated(self.file, rows, schema)
        return [np.concatenate([_as_raw(outputs[part.output], part) for part in parts], axis=1) for parts in self.parts]


def evaluated(file: OnnxFile, rows: NDArray[np.float32], schema: Schema) -> dict[str, NDArray[np.float64]]:
    """Return the numeric outputs [n, K] of a graph for rows [n, F], in passes of at most 4096 rows.

    Raises:
        Refused: ONNX Runtime cannot run the graph, or outputs are not one row of numbers for each row.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    names = [name for name in file.outputs if name not in file.labels]
    try:
        session = onnxruntime.InferenceSession(
            file.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        parts = [
            session.run(names, file.fed(rows[start : start + 4096], schema))
            for start in range(0, max(len(rows), 1), 4096)
        ]
    except Exception as error:  # ONNX Runtime has a dozen error classes without a common base
        reason = str(error).splitlines()[0]
        raise Refused(f"{file.name}: cannot be run: {reason}") from error
    outputs = {}
    for name, column in zip(names, zip(*parts, strict=True), strict=True):
        array = np.concatenate([np.asarray(part) for part in column])
        if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or len(array) != len(rows):
            raise Refused(
                f"{file.name}: output {name} is {array.dtype} {list(array.shape)} for {len(rows)} rows; it must be "
                "numbers "
                "[rows] or [rows, values]"
            )
        outputs[name] = array.astype(np.float64).reshape(len(rows), -1)
    return outputs


def interpreted(file: OnnxFile, family: str, wish: Wish, rows: NDArray[np.float32], schema: Schema) -> OnnxSource:
    """Return a source whose outputs have a meaning for the targets.

    Args:
        rows: some rows [n, F] that show what values the outputs have.

    Raises:
        Refused: it is not clear which output means what, or see ``evaluated``.
    """
    shown = evaluated(file, rows, schema)
    parts = _named(file, wish, shown) if wish.words or wish.levels else _guessed(file, wish, shown)
    outputs = tuple(_output(file, of_target, wish) for of_target in parts)
    return OnnxSource(file, family, parts, outputs, names=file.names)


def _named(file: OnnxFile, wish: Wish, shown: Mapping[str, NDArray[np.float64]]) -> tuple[tuple[_Part, ...], ...]:
    """Return the parts of the one target by the words or levels of the user."""
    places = [(name, column) for name, array in shown.items() for column in range(array.shape[1])]
    words = wish.words or ("quantile",) * len(wish.levels)
    if words[0] in ("probabilities", "logits"):
        if len(shown) != 1:
            raise Refused(f"{file.name}: {words[0]} need one output; the model has {listed(shown)}")
        ((name, array),) = shown.items()
        return ((_Part(name, tuple(range(array.shape[1])), words[0]),),)
    if len(wish.targets) != 1 or len(words) != len(places):
        option = "outputs" if wish.words else "quantiles"
        raise Refused(
            f"--{option} names {len(words)} values of one target; {file.name} has {len(places)} values "
            f"({_shapes(shown)}) for {len(wish.targets)} target(s)"
        )
    return (tuple(_Part(name, (column,), word) for (name, column), word in zip(places, words, strict=True)),)


def _guessed(file: OnnxFile, wish: Wish, shown: Mapping[str, NDArray[np.float64]]) -> tuple[tuple[_Part, ...], ...]:
    targets = len(wish.targets)
    if len(shown) == 1:
        ((name, array),) = shown.items()
        width = array.shape[1]
        if targets == 1 and wish.classes[0]:
            word = "probabilities" if file.labels or _probable(array) else "logits"
            return ((_Part(name, tuple(range(width)), word),),)
        if width == targets:
            return tuple((_Part(name, (column,), "mean"),) for column in range(width))
    elif targets == 1 and not wish.classes[0] and len(shown) == 2 and all(a.shape[1] == 1 for a in shown.values()):
        first, second = shown
        for word, pattern in _SPREAD.items():
            if pattern.search(second) and not pattern.search(first):
                return ((_Part(first, (0,), "mean"), _Part(second, (0,), word)),)
    elif targets == len(shown) and all(
        array.shape[1] == 1 or wish.classes[at] for at, array in enumerate(shown.values())
    ):
        return tuple(
            (
                _Part(
                    name,
                    tuple(range(array.shape[1])),
                    ("probabilities" if _probable(array) else "logits") if classes else "mean",
                ),
            )
            for (name, array), classes in zip(shown.items(), wish.classes, strict=True)
        )
    raise Refused(
        f"{file.name}: it is not clear what its outputs mean ({_shapes(shown)}) for the target(s) "
        f"{listed(wish.targets)}; "
        f"name them in order, with --outputs (some of {', '.join(WORDS)}) or --quantiles 0.05,0.5,0.95, or export the "
        "model with one value per target"
    )


def _output(file: OnnxFile, parts: tuple[_Part, ...], wish: Wish) -> Output:
    words = [part.word for part in parts]
    if words[0] == "quantile":
        if list(wish.levels) != sorted(set(wish.levels)) or not all(0 < level < 1 for level in wish.levels):
            raise Refused(f"--quantiles = {wish.levels}: must be ascending levels between 0 and 1")
        return Output("quantiles", len(parts), levels=wish.levels)
    if words[0] in ("probabilities", "logits"):
        width = max(len(parts[0].columns), 2)  # one value is the probability of the second of two classes
        classes = file.classes if len(file.classes) == width else ()
        return Output("probabilities", width, classes=classes)
    if words == ["mean"]:
        return Output("mean", 1)
    if len(words) == 2 and words[0] == "mean" and words[1] in _SPREAD:
        return Output("mean_and_variance", 2)
    raise Refused(
        f"--outputs = {','.join(words)}: must be mean; mean and one of {', '.join(_SPREAD)}; probabilities; or logits"
    )


def _probable(array: NDArray[np.float64]) -> bool:
    inside = bool(((array >= -1e-6) & (array <= 1 + 1e-6)).all())
    return inside and (array.shape[1] == 1 or bool((np.abs(array.sum(axis=1) - 1) < _SUMS_TO_ONE).all()))


def _shapes(shown: Mapping[str, NDArray[np.float64]]) -> str:
    return ", ".join(f"{name} [rows, {array.shape[1]}]" for name, array in shown.items())


def _converted(graph: Graph, value: Value, part: _Part) -> Value:
    """Return the values of a part as raw outputs [N, K] of its target."""
    value = graph.op("Cast", graph.op("Reshape", value, [0, -1]) if part.columns else value, to=1)
    if len(part.columns) == 1 and part.word not in ("probabilities", "logits"):
        value = graph.column(value, part.columns[0])
    if part.word == "deviation":
        return value * value
    if part.word == "log_variance":
        return graph.exp(value)
    if part.word == "logits":
        value = graph.sigmoid(value) if len(part.columns) == 1 else graph.op("Softmax", value, axis=1)
    if part.word in ("probabilities", "logits") and len(part.columns) == 1:
        return graph.op("Concat", 1.0 - value, value, axis=1)
    return value


def _as_raw(array: NDArray[np.float64], part: _Part) -> NDArray[np.float64]:
    """Return the same by NumPy, from an output [n, values]."""
    if part.word not in ("probabilities", "logits"):
        array = array[:, list(part.columns)]
    if part.word == "deviation":
        return array**2
    if part.word == "log_variance":
        return np.exp(array)
    if part.word == "logits":
        shifted = np.exp(array - array.max(axis=1, keepdims=True))
        array = 1 / (1 + np.exp(-array)) if array.shape[1] == 1 else shifted / shifted.sum(axis=1, keepdims=True)
    if part.word in ("probabilities", "logits") and array.shape[1] == 1:
        return np.concatenate([1 - array, array], axis=1)
    return array


def _joined(graph: Graph, values: list[Value]) -> Value:
    return values[0] if len(values) == 1 else graph.op("Concat", *values, axis=1)
