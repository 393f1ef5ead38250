"""Compact tables of oblivious trees: an eighth to a third of the library's memory, optimised for few rows.

Leaves are 32-bit fixed-point numbers, with a scale of their own for each tree and output: an error of 2^-32 of the
tree's largest leaf at most, 250 times less than with float32. Borders of all members are merged, so that a row is
binarised once; members whose merged borders would exceed 255 per feature begin a new group.
"""

import ctypes
import mmap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.executors.trees.cbm import ObliviousTrees
from models.executors.trees.kernel import RANKS, Binarisation, Piece, Summation
from models.executors.trees.virtual import Cut

_LARGEST = 2**31 - 1
_AT_ONCE = 2048
"""Number of trees whose leaves are converted together."""
_HUGE_PAGE = 1 << 21

Column = tuple[int, bool]
"""Feature, and whether its missing values are above all borders."""


class NoTables(ValueError):
    """The model does not fit into tables; the library runs it."""


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """Trees of one model with leaves in fixed point; splits still count its own borders."""

    dimension: int
    depths: NDArray[np.uint8]
    splits: NDArray[np.int32]
    columns: dict[Column, NDArray[np.float32]]
    """Borders of each column that a split uses, ascending."""
    places: tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.float32]]
    """Feature, treatment of missing values and value of each border that splits refer to [B]."""
    scales: NDArray[np.float32]
    leaves: NDArray[np.int32]
    error: NDArray[np.float64]
    """Largest possible difference of a sum over all trees from that of the original leaves [D]."""
    scale: float
    bias: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        """Memory of the tables in bytes, once splits have been numbered."""
        return self.leaves.nbytes + self.scales.nbytes + self.depths.nbytes + 2 * len(self.splits)


def pack(trees: ObliviousTrees) -> PackedTrees:
    """Convert a model.

    Raises:
        NoTables: leaves that are not finite numbers of ordinary size, or more than 255 borders of one feature.
    """
    used = np.unique(trees.splits)
    columns: dict[Column, NDArray[np.float32]] = {}
    keys = trees.features[used].astype(np.int64) * 2 + trees.above[used]
    for key in np.unique(keys):
        columns[int(key) >> 1, bool(key & 1)] = np.unique(trees.borders[used[keys == key]])
    if not fits(columns):
        raise NoTables(f"more than {RANKS - 1} borders of one feature, or splits on more than {RANKS} features")
    leaves, scales, error = _fixed_point(trees)
    places = (trees.features, trees.above, trees.borders)
    depths = trees.depths.astype(np.uint8)
    return PackedTrees(
        trees.dimension, depths, trees.splits.copy(), columns, places, scales, leaves, error, trees.scale, trees.bias
    )


def fits(columns: dict[Column, NDArray[np.float32]]) -> bool:
    """Return whether splits at all these borders can be numbered."""
    return len(columns) <= RANKS and all(len(borders) < RANKS for borders in columns.values())


def _fixed_point(trees: ObliviousTrees) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float64]]:
    count, dimension = len(trees.depths), trees.dimension
    starts = np.concatenate([[0], np.cumsum(1 << trees.depths.astype(np.int64))])
    original = trees.leaves.reshape(-1, dimension)
    leaves = _on_huge_pages(original.size, np.int32).reshape(original.shape)
    scales = np.empty((count, dimension), np.float32)
    for first in range(0, count, _AT_ONCE):
        last = min(first + _AT_ONCE, count)
        some = slice(int(starts[first]), int(starts[last]))
        largest = np.maximum.reduceat(np.abs(original[some]), starts[first:last] - starts[first], axis=0)
        if not (largest < 1e37).all():
            raise NoTables("leaves that are not finite numbers below 1e37")
        scales[first:last] = np.nextafter((largest / _LARGEST).astype(np.float32), np.float32(np.inf))
        sizes = np.diff(starts[first : last + 1])
        leaves[some] = np.rint(original[some] / np.repeat(scales[first:last].astype(np.float64), sizes, axis=0))
    return leaves.ravel(), scales, scales.astype(np.float64).sum(axis=0) / 2 * abs(trees.scale)


def _on_huge_pages(count: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return an array, on pages of 2 MB if it is large.

    Tables are read at random positions or rarely; huge pages avoid misses of the translation buffer.
    """
    size = count * np.dtype(kind).itemsize
    if size < _HUGE_PAGE // 2 or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(count, kind)
    whole = -(-size // _HUGE_PAGE) * _HUGE_PAGE
    room = mmap.mmap(-1, whole + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without them
        room.madvise(mmap.MADV_HUGEPAGE)
    start = -np.frombuffer(room, np.uint8).ctypes.data % _HUGE_PAGE
    return np.frombuffer(room, kind, count, start)


class Tables:
    """Members of models of any heads. Safe to call from several threads at once."""

    def __init__(self, library: ctypes.CDLL, models: Sequence[tuple[PackedTrees, Cut]]) -> None:
        self._groups = [
            (
                Summation(library, binarisation(columns), _pieces(some, columns)),
                [(packed.scale, packed.bias, how) for packed, how in some],
            )
            for columns, some in _grouped(models)
        ]
        self.nbytes = sum(packed.nbytes for packed, _ in models)

    def __call__(self, rows: NDArray[np.float32], few: int | None = None) -> list[NDArray[np.float64]]:
        """Return the raw sums of the members of each model, [V, n, D], over rows [n, F]; ``few`` as ``Summation``."""
        raw = []
        for summation, some in self._groups:
            sums = iter(summation(rows, few))
            for scale, bias, how in some:
                if len(how.ends) == 1:
                    raw.append((next(sums) * scale + bias)[None])
                    continue
                pieces = np.stack([next(sums) for _ in how.ends]) * scale
                pieces[0] += bias
                raw.append(how.members(pieces))
        return raw


def _grouped(
    models: Sequence[tuple[PackedTrees, Cut]],
) -> list[tuple[dict[Column, NDArray[np.float32]], list[tuple[PackedTrees, Cut]]]]:
    """Group neighbouring models whose merged borders can be numbered together."""
    groups: list[tuple[dict[Column, NDArray[np.float32]], list[tuple[PackedTrees, Cut]]]] = []
    for model in models:
        if groups:
            merged = dict(groups[-1][0])
            for column, borders in model[0].columns.items():
                merged[column] = np.union1d(merged[column], borders) if column in merged else borders
            if fits(merged):
                groups[-1] = (merged, [*groups[-1][1], model])
                continue
        groups.append((model[0].columns, [model]))
    return groups


def binarisation(columns: dict[Column, NDArray[np.float32]]) -> Binarisation:
    """Return the borders of each column in the kernel's layout; without splits, one column without borders."""
    keys = list(columns) or [(0, False)]
    borders = np.full((len(keys), RANKS), np.inf, np.float32)
    steps = np.zeros(len(keys), np.uint8)
    for number, key in enumerate(keys):
        own = columns.get(key, np.empty(0, np.float32))
        borders[number, : len(own)] = own
        steps[number] = len(own).bit_length()
    features = np.array([feature for feature, _ in keys], np.int32)
    return Binarisation(features, np.array([above for _, above in keys], np.uint8), steps, borders)


def _pieces(models: Sequence[tuple[PackedTrees, Cut]], columns: dict[Column, NDArray[np.float32]]) -> list[Piece]:
    numbers = {column: number for number, column in enumerate(columns)}
    splits = _joined([_numbered(packed, columns, numbers) for packed, _ in models])
    scales = _joined([packed.scales.ravel() for packed, _ in models])
    depths = _joined([packed.depths for packed, _ in models])
    pieces = []
    for (packed, how), own_splits, own_scales, own_depths in zip(models, splits, scales, depths, strict=True):
        levels = packed.depths.astype(np.int64)
        first_split = np.concatenate([[0], np.cumsum(levels)])
        first_leaf = np.concatenate([[0], np.cumsum(1 << levels)]) * packed.dimension
        for start, end in zip((0, *how.ends[:-1]), how.ends, strict=True):
            pieces.append(
                Piece(
                    packed.dimension,
                    own_depths[start:end],
                    own_splits[first_split[start] : first_split[end]],
                    own_scales[start * packed.dimension : end * packed.dimension],
                    packed.leaves[first_leaf[start] : first_leaf[end]],
                )
            )
    return pieces


def _joined(parts: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the same arrays, contiguous in memory."""
    ends = np.cumsum([len(part) for part in parts])
    whole = _on_huge_pages(int(ends[-1]), parts[0].dtype.type)
    np.concatenate(parts, out=whole)
    return np.split(whole, ends[:-1])


def _numbered(
    packed: PackedTrees, columns: dict[Column, NDArray[np.float32]], numbers: dict[Column, int]
) -> NDArray[np.uint16]:
    """Return splits in the kernel's numbering: column * RANKS + rank."""
    number_of_border = np.zeros(len(packed.places[2]), np.uint16)
    features, above, borders = packed.places
    for column in packed.columns:
        own = (features == column[0]) & (above == column[1])
        ranks = np.searchsorted(columns[column], borders[own])
        number_of_border[own] = numbers[column] * RANKS + np.minimum(ranks, RANKS - 1)
    return number_of_border[packed.splits]
