"""Loader and caller of the compiled kernel. It is optional; without it, native CatBoost computes everything."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import compiled

RANKS = 256
"""Numbers of splits per column; a split is ``column * RANKS + rank``."""
_VERSION = 2  # as in kernel.c
_FOLDER = Path(__file__).parent


class _Piece(ctypes.Structure):
    _fields_ = [
        ("trees", ctypes.c_int64),
        ("dimension", ctypes.c_int64),
        ("sums", ctypes.c_int64),
        ("depths", ctypes.c_void_p),
        ("splits", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("leaves", ctypes.c_void_p),
    ]


class _Ensemble(ctypes.Structure):
    _fields_ = [
        ("columns", ctypes.c_int64),
        ("features", ctypes.c_void_p),
        ("above", ctypes.c_void_p),
        ("steps", ctypes.c_void_p),
        ("borders", ctypes.c_void_p),
        ("pieces", ctypes.c_int64),
        ("piece", ctypes.POINTER(_Piece)),
    ]


@dataclass(frozen=True, eq=False)
class Binarisation:
    """Arrays that convert values to ranks, shared by pieces."""

    features: NDArray[np.int32]
    """Column of a row for each column of ranks [C]; C is at most 256."""
    above: NDArray[np.uint8]
    """1 if a missing value is above all borders, else 0 [C]."""
    steps: NDArray[np.uint8]
    """Number of halvings that find a rank: a column has 2^steps - 1 borders [C]."""
    borders: NDArray[np.float32]
    """Ascending borders, followed by infinity [C, RANKS]."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive trees whose leaves are added together."""

    dimension: int
    depths: NDArray[np.uint8]
    """Depth of each tree [T]."""
    splits: NDArray[np.uint16]
    """Splits of all trees, in order."""
    scales: NDArray[np.float32]
    """Scales of the leaves [T * D]."""
    leaves: NDArray[np.int32]
    """Leaves [2^depth, D] of all trees, in order, in units of the scales."""


class Summation:
    """Pieces that share a binarisation, in the kernel's layout. Safe to call from several threads at once."""

    def __init__(self, library: ctypes.CDLL, binarisation: Binarisation, pieces: Sequence[Piece]) -> None:
        self._library = library
        self._kept = (binarisation, tuple(pieces))  # keep alive: the kernel has their addresses
        self._starts = [0, *accumulate(piece.dimension for piece in pieces)]
        self.width = int(binarisation.features.max()) + 1
        """Least number of columns of a row."""
        packed = [
            _Piece(
                len(piece.depths),
                piece.dimension,
                start,
                *(_address(array) for array in (piece.depths, piece.splits, piece.scales, piece.leaves)),
            )
            for piece, start in zip(pieces, self._starts, strict=False)
        ]
        self._pieces = (_Piece * len(packed))(*packed)
        arrays = (binarisation.features, binarisation.above, binarisation.steps, binarisation.borders)
        self._ensemble = _Ensemble(
            len(binarisation.features), *(_address(array) for array in arrays), len(packed), self._pieces
        )

    def __call__(self, rows: NDArray[np.float32], few: int | None = None) -> list[NDArray[np.float64]]:
        """Return the sums of each piece, [n, D], over rows [n, F].

        Args:
            few: below this number, rows are processed one by one, with bit-identical results; None for the number
                below which that is faster on this processor.

        Raises:
            MemoryError: no memory for a few hundred bytes per row.
        """
        rows = np.ascontiguousarray(rows, np.float32)
        if rows.ndim != 2 or rows.shape[1] < self.width:
            raise ValueError(f"rows are {rows.shape}, at least {self.width} columns are needed")
        count = len(rows)
        sums = np.zeros(count * self._starts[-1])
        failed = self._library.demur_trees_sums(
            ctypes.byref(self._ensemble),
            _address(rows),
            count,
            rows.shape[1],
            -1 if few is None else few,
            _address(sums),
        )
        if failed:
            raise MemoryError("no memory for the ranks of a thousand rows")
        spans = zip(self._starts, self._starts[1:], strict=False)
        return [sums[start * count : end * count].reshape(count, end - start) for start, end in spans]


def load() -> ctypes.CDLL | None:
    """Return the compiled kernel; None if none was built, or only for another version of this module."""
    library = compiled.library(_FOLDER)
    if library is None:
        return None
    try:
        layout, sums = library.demur_trees_layout, library.demur_trees_sums
    except AttributeError:
        return None
    layout.restype = ctypes.c_int64
    if layout() != _VERSION * 1_000_000 + ctypes.sizeof(_Piece) * 1000 + ctypes.sizeof(_Ensemble):
        return None
    integer = ctypes.c_int64
    sums.argtypes = [ctypes.POINTER(_Ensemble), ctypes.c_void_p, integer, integer, integer, ctypes.c_void_p]
    sums.restype = ctypes.c_int
    return library


def _address(array: NDArray[Any]) -> int:
    return array.ctypes.data
