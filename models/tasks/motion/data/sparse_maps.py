"""Sparse storage of feature maps: only cells that are not zero are kept, a tenth of the size.

All training processes share one copy, since the files are memory-mapped. Values have half precision: occupancies and
states of lanes are exact, velocities to 4 mm/s at 10 m/s, a yaw to 1 mrad.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import Grid

Float32 = NDArray[np.float32]

_CELLS, _VALUES, _STARTS = "cells.u4", "values.f2", "starts.npy"
_LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class SparseMaps:
    """Maps of N requests."""

    grid: Grid
    starts: NDArray[np.int64]
    """Start of the cells of each map, and the end of the last, [N + 1]."""
    cells: NDArray[np.uint32]
    """Indices of the cells that are not zero in a flat map [y, x, channels], map by map."""
    values: NDArray[np.float16]
    """Values of these cells."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def dense(self, rows: NDArray[np.integer[Any]]) -> Float32:
        """Return the maps of some requests, float32 [n, channels, y, x].

        In memory channels come last: convolutions take half the time on such maps.
        """
        channels, *cells = self.grid.shape
        maps = np.zeros((len(rows), *cells, channels), np.float32)
        for number, row in enumerate(rows):
            part = slice(self.starts[row], self.starts[row + 1])
            maps[number].reshape(-1)[self.cells[part]] = self.values[part]
        return maps.transpose(0, 3, 1, 2)

    @classmethod
    def load(cls, folder: Path, grid: Grid) -> SparseMaps:
        """Load the maps of a ``Writer``, memory-mapped."""
        starts = np.load(folder / _STARTS, allow_pickle=False)
        if not starts[-1]:  # an empty file cannot be mapped
            return cls(grid, starts, np.zeros(0, np.uint32), np.zeros(0, np.float16))
        cells = np.memmap(folder / _CELLS, np.uint32, "r")
        return cls(grid, starts, cells, np.memmap(folder / _VALUES, np.float16, "r"))


class Writer:
    """Writer of maps, one by one into a folder, for ``SparseMaps.load``; complete when the context ends."""

    def __init__(self, folder: Path, grid: Grid) -> None:
        self._folder, self._grid, self._starts = folder, grid, [0]

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._cells = (self._folder / _CELLS).open("wb")
        self._values = (self._folder / _VALUES).open("wb")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._cells.close()
        self._values.close()
        if kind is None:
            np.save(self._folder / _STARTS, np.array(self._starts, np.int64))

    def add(self, drawn: Float32) -> None:
        """Add a map [channels, y, x].

        Raises:
            ValueError: the shape is wrong, or a value does not fit half precision.
        """
        if drawn.shape != self._grid.shape:
            raise ValueError(f"a map has the shape {list(drawn.shape)}, {list(self._grid.shape)} is needed")
        flat = drawn.transpose(1, 2, 0).reshape(-1)
        cells = np.flatnonzero(flat)
        values = flat[cells]
        if not (np.abs(values) <= _LARGEST).all():
            raise ValueError(f"a map holds a value that is not finite, or above {_LARGEST:g}; maps are in m, m/s, rad")
        cells.astype(np.uint32).tofile(self._cells)
        values.astype(np.float16).tofile(self._values)
        self._starts.append(self._starts[-1] + len(cells))
