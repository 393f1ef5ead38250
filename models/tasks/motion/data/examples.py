"""Labelled requests for training: feature maps with true trajectories.

Only cells of maps that are not zero are kept, a tenth of the size, and all training processes share one memory-mapped
copy. Values have half precision: occupancies and states of lanes are exact, velocities to 4 mm/s at 10 m/s, a yaw to
1 mrad.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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


Rows = NDArray[np.integer[Any]] | NDArray[np.bool_]

_INDEX, _FUTURES = "index.json", "futures.npy"


@dataclass(frozen=True)
class Example:
    """Request with a fully observed future."""

    scene: str
    track: int
    drawn: Float32
    """Feature map [channels, y, x]."""
    future: Float32
    """Positions [T, 2] in the agent's frame, m."""
    shifted: bool
    """True if the scene is outside the training domain."""
    tags: Mapping[str, str]
    """Tags of the scene, by name."""


@dataclass(frozen=True)
class Examples:
    """Set of N labelled requests."""

    maps: SparseMaps
    rows: NDArray[np.intp]
    """Row in ``maps`` of each request, [N]."""
    futures: Float32
    """Positions [N, T, 2] in the frame of each agent, m."""
    scenes: NDArray[np.str_]
    """Scenes, [N]."""
    tracks: NDArray[np.int64]
    """Tracks, [N]."""
    shifted: NDArray[np.bool_]
    """Mask of requests of shifted scenes, [N]."""
    tags: Mapping[str, NDArray[np.str_]]
    """Tags by name, [N] each."""

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: Rows) -> Examples:
        """Return some requests, by number or by mask."""
        return replace(
            self,
            rows=self.rows[chosen],
            futures=self.futures[chosen],
            scenes=self.scenes[chosen],
            tracks=self.tracks[chosen],
            shifted=self.shifted[chosen],
            tags={name: values[chosen] for name, values in self.tags.items()},
        )

    def drawn(self, chosen: NDArray[np.integer[Any]] | slice = slice(None)) -> Float32:
        """Return the feature maps of some requests, [n, channels, y, x]; channels come last in memory."""
        return self.maps.dense(self.rows[chosen])

    @property
    def fingerprint(self) -> str:
        """SHA-256 over scenes, tracks, maps and futures in order."""
        digest = hashlib.sha256()
        for row, scene, track, future in zip(self.rows, self.scenes, self.tracks, self.futures, strict=True):
            part = slice(self.maps.starts[row], self.maps.starts[row + 1])
            digest.update(f"{scene} {track}\n".encode())
            for values in (self.maps.cells[part], self.maps.values[part], np.ascontiguousarray(future, "<f4")):
                digest.update(values.tobytes())
        return digest.hexdigest()

    @classmethod
    def load(cls, folder: Path, grid: Grid) -> Examples:
        """Load the examples of ``store``; maps are read on use."""
        index = json.loads((folder / _INDEX).read_text())
        count = len(index["scenes"])
        return cls(
            maps=SparseMaps.load(folder, grid),
            rows=np.arange(count),
            futures=np.load(folder / _FUTURES, allow_pickle=False),
            scenes=np.array(index["scenes"], np.str_),
            tracks=np.array(index["tracks"], np.int64),
            shifted=np.array(index["shifted"], bool),
            tags={name: np.array(values, np.str_) for name, values in index["tags"].items()},
        )


def store(examples: Iterable[Example], folder: Path, grid: Grid) -> Examples:
    """Write examples one by one into a folder, which only appears when it is complete.

    Raises:
        ValueError: a map has another grid, or a value does not fit half precision.
    """
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    futures: list[Float32] = []
    index: dict[str, Any] = {"scenes": [], "tracks": [], "shifted": [], "tags": {}}
    with Writer(part, grid) as maps:
        for one in examples:
            try:
                maps.add(one.drawn)
            except ValueError as error:
                raise ValueError(f"scene {one.scene!r}, track {one.track}: {error}") from error
            futures.append(np.asarray(one.future, np.float32))
            index["scenes"].append(one.scene)
            index["tracks"].append(int(one.track))
            index["shifted"].append(bool(one.shifted))
            for name, value in one.tags.items():
                index["tags"].setdefault(name, []).append(value)
    np.save(part / _FUTURES, np.stack(futures) if futures else np.zeros((0, 0, 2), np.float32))
    (part / _INDEX).write_text(json.dumps(index))
    part.rename(folder)
    return Examples.load(folder, grid)
