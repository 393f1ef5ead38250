"""Reader of oblivious trees from .cbm files, without JSON, which would take 384 MB for twenty thousand trees.

A .cbm is the letters ``CBM1``, a length, and a flatbuffer of that length (schema ``TModelCore`` of CatBoost, from which
the field numbers are). Nothing is trusted: every offset is checked against the buffer.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"CBM1"
_TREES = 1  # field of TModelCore
# fields of TObliviousTrees; the format is described in CatBoost's model.fbs
_DIMENSION, _SPLITS, _SIZES, _FLOATS = 0, 1, 2, 5
_OTHER_FEATURES = {
    4: "categorical features",
    6: "one-hot features",
    7: "counters",
    12: "text features",
    13: "embeddings",
}
_LEAVES, _STEP_NODES, _SCALE, _BIAS, _BIASES = 8, 10, 14, 15, 16
# fields of TFloatFeature
_FLAT_INDEX, _BORDERS, _MISSING = 2, 3, 5
_AS_TRUE = 2
_MAX_DEPTH = 16


class UnreadableTrees(ValueError):
    """The file is damaged, or its trees are of an unsupported kind."""


@dataclass(frozen=True, eq=False)
class ObliviousTrees:
    """Trees of one model, each with one split per level; arrays are views of the file's content."""

    dimension: int
    """Number of raw sums, D."""
    depths: NDArray[np.int32]
    """Number of splits of each tree [T]."""
    splits: NDArray[np.int32]
    """Splits of all trees, in order: indices of borders, counted through all features."""
    features: NDArray[np.int32]
    """Column of a row for each border [B]."""
    borders: NDArray[np.float32]
    """Borders; a split is true if the value is greater [B]."""
    above: NDArray[np.bool_]
    """True if a missing value is above the border [B]."""
    leaves: NDArray[np.float64]
    """Leaf values of all trees, in order, [2^depth, D] each."""
    scale: float
    bias: NDArray[np.float64]
    """Bias of the raw sums, which are scale times the sum of leaves plus bias [D]."""


def read_trees(path: Path) -> ObliviousTrees:
    """Read the trees of a model.

    Raises:
        UnreadableTrees: not a .cbm file, a damaged one, trees that are not oblivious, features that are not numeric.
        OSError: the file cannot be read.
    """
    content = path.read_bytes()
    try:
        return _trees(content)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise UnreadableTrees(f"{path}: {error}") from error


def _trees(content: bytes) -> ObliviousTrees:
    if content[:4] != _MAGIC:
        raise UnreadableTrees("does not begin with CBM1")
    (size,) = struct.unpack_from("<I", content, 4)
    buffer = memoryview(content)[8 : 8 + size]
    if len(buffer) != size:
        raise UnreadableTrees(f"ends after {len(buffer)} bytes of {size}")
    core = _Table(buffer, struct.unpack_from("<I", buffer)[0])
    trees = core.table(_TREES)
    for field, what in _OTHER_FEATURES.items():
        if trees.length(field):
            raise UnreadableTrees(f"has {what}")
    if trees.length(_STEP_NODES):
        raise UnreadableTrees("has trees that are not oblivious")
    dimension = int(trees.scalar(_DIMENSION, "<i", 0))
    depths, splits = trees.array(_SIZES, np.int32), trees.array(_SPLITS, np.int32)
    leaves = trees.array(_LEAVES, np.float64)
    features, borders, above = _borders(trees)
    if dimension < 1 or not len(depths) or depths.min() < 0 or depths.max() > _MAX_DEPTH:
        raise UnreadableTrees(f"trees of dimension {dimension} and depths that are not 0 to {_MAX_DEPTH}")
    if len(splits) != depths.sum(dtype=np.int64) or len(leaves) != (1 << depths.astype(np.int64)).sum() * dimension:
        raise UnreadableTrees("number of splits or leaves does not fit the depths of the trees")
    if len(splits) and not 0 <= splits.min() <= splits.max() < len(borders):
        raise UnreadableTrees("splits at borders that do not exist")
    biases = trees.array(_BIASES, np.float64)
    if not len(biases):
        biases = np.full(dimension, trees.scalar(_BIAS, "<d", 0.0))
    if len(biases) != dimension:
        raise UnreadableTrees(f"{len(biases)} biases for dimension {dimension}")
    scale = float(trees.scalar(_SCALE, "<d", 1.0))
    return ObliviousTrees(dimension, depths, splits, features, borders, above, leaves, scale, biases.copy())


def _borders(trees: _Table) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_]]:
    features, borders, above = [], [], []
    for feature in trees.tables(_FLOATS):
        own = feature.array(_BORDERS, np.float32)
        index = int(feature.scalar(_FLAT_INDEX, "<i", -1))
        if index < 0 or not np.isfinite(own).all():
            raise UnreadableTrees(f"feature {index} has no place, or borders that are not numbers")
        features.append(np.full(len(own), index, np.int32))
        borders.append(own)
        above.append(np.full(len(own), feature.scalar(_MISSING, "<b", 0) == _AS_TRUE))
    if not features:
        raise UnreadableTrees("has no numeric features")
    return np.concatenate(features), np.concatenate(borders), np.concatenate(above)


class _Table:
    """Table of a flatbuffer: a signed offset back to its list of fields, which are offsets from the table."""

    def __init__(self, buffer: memoryview, start: int) -> None:
        self._buffer = buffer
        self._start = start
        (back,) = struct.unpack_from("<i", buffer, start)
        fields = start - back
        if not 0 <= fields <= len(buffer) - 4:
            raise UnreadableTrees("a table's fields lie outside the file")
        (size,) = struct.unpack_from("<H", buffer, fields)
        self._fields = struct.unpack_from(f"<{max(size - 4, 0) // 2}H", buffer, fields + 4)

    def _at(self, field: int) -> int:
        """Return the position of a field; 0 if it has its default."""
        offset = self._fields[field] if field < len(self._fields) else 0
        return self._start + offset if offset else 0

    def scalar(self, field: int, form: str, default: Any) -> Any:
        at = self._at(field)
        return struct.unpack_from(form, self._buffer, at)[0] if at else default

    def _target(self, field: int) -> int:
        at = self._at(field)
        return int(at + struct.unpack_from("<I", self._buffer, at)[0]) if at else 0

    def table(self, field: int) -> _Table:
        target = self._target(field)
        if not target:
            raise UnreadableTrees("has no trees")
        return _Table(self._buffer, target)

    def length(self, field: int) -> int:
        """Return the length of a vector."""
        target = self._target(field)
        return int(struct.unpack_from("<I", self._buffer, target)[0]) if target else 0

    def array(self, field: int, kind: Any) -> NDArray[Any]:
        """Return a vector of numbers as a view."""
        length = self.length(field)
        if not length:
            return np.empty(0, kind)
        return np.frombuffer(self._buffer, np.dtype(kind).newbyteorder("<"), length, self._target(field) + 4)

    def tables(self, field: int) -> list[_Table]:
        length, start = self.length(field), self._target(field) + 4
        if length > len(self._buffer) // 4:
            raise UnreadableTrees("a vector is longer than the file")
        offsets = struct.unpack_from(f"<{length}I", self._buffer, start) if length else ()
        return [_Table(self._buffer, start + 4 * number + offset) for number, offset in enumerate(offsets)]
