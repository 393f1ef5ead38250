"""Labelled requests for training: feature maps with true trajectories."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.data.sparse_maps import SparseMaps, Writer
from models.tasks.motion.inference.grid import Grid

Float32 = NDArray[np.float32]
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
        for example in examples:
            try:
                maps.add(example.drawn)
            except ValueError as error:
                raise ValueError(f"scene {example.scene!r}, track {example.track}: {error}") from error
            futures.append(np.asarray(example.future, np.float32))
            index["scenes"].append(example.scene)
            index["tracks"].append(int(example.track))
            index["shifted"].append(bool(example.shifted))
            for name, value in example.tags.items():
                index["tags"].setdefault(name, []).append(value)
    np.save(part / _FUTURES, np.stack(futures) if futures else np.zeros((0, 0, 2), np.float32))
    (part / _INDEX).write_text(json.dumps(index))
    part.rename(folder)
    return Examples.load(folder, grid)
