"""Recording of Argoverse 2: actors over time and the roads around them, independent of the file format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.evaluation.files import need
from models.evaluation.unit_errors import BadFile
from models.tasks.motion.data.argoverse.actors import Actor
from models.tasks.motion.protocol.motion_pb2 import PathGraph

CITIES = {
    "ATX": "Austin",
    "DTW": "Detroit",
    "MIA": "Miami",
    "PAO": "PaloAlto",
    "PIT": "Pittsburgh",
    "WDC": "WashingtonDC",
}
"""Cities of Argoverse 2 by code; none of them is a value of the released enumeration."""


@dataclass(frozen=True)
class Recording:
    """Recording of F frames."""

    name: str
    """Name of the log or scenario; ids of scenes are derived from it."""
    city: str
    """City, a value of ``CITIES``; empty if unknown."""
    time: NDArray[np.float64]
    """Time of each frame, s since the first, [F]."""
    actors: tuple[Actor, ...]
    """All actors but the ego."""
    ego: Actor | None
    roads: PathGraph

    def every_second(self) -> Recording:
        """Return the frames 0, 2, 4 …: 10 Hz becomes 5 Hz."""
        return replace(
            self,
            time=self.time[::2],
            actors=tuple(_every_second(actor) for actor in self.actors),
            ego=None if self.ego is None else _every_second(self.ego),
        )


def _every_second(actor: Actor) -> Actor:
    return replace(actor, position=actor.position[::2], yaw=actor.yaw[::2])


def columns(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[np.generic]]:
    """Return the named columns of a Feather or Parquet file.

    Raises:
        BadFile: the file does not exist, lacks a column, is empty or has missing values, or pyarrow is not installed.
    """
    arrow = need("pyarrow", "reading Argoverse 2")
    module = "pyarrow.feather" if path.suffix == ".feather" else "pyarrow.parquet"
    reader = need(module, "reading Argoverse 2")
    options = {"memory_map": False}
    try:
        table = reader.read_table(path, columns=list(names), **options)
    except (OSError, ValueError, KeyError, arrow.ArrowException) as error:
        raise BadFile(f"{path} cannot be read with the columns {', '.join(names)}: {error}") from error
    if missing := [name for name in names if name not in table.column_names]:
        raise BadFile(f"{path} has no column {missing[0]!r}; Argoverse 2 has {', '.join(names)}")
    if not table.num_rows:
        raise BadFile(f"{path} has no rows")
    for name in names:
        if table[name].null_count:
            raise BadFile(f"{path}: column {name!r} has missing values")
    return {name: table[name].to_numpy() for name in names}


def numbers(path: Path, arrays: dict[str, NDArray[np.generic]], names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return columns as an array, float64 [rows, names].

    Raises:
        BadFile: a value is not a finite number.
    """
    try:
        table = np.stack([np.asarray(arrays[name], np.float64) for name in names], axis=1)
    except ValueError as error:
        raise BadFile(f"{path}: columns {', '.join(names)} need numbers: {error}") from error
    if not np.isfinite(table).all():
        row, column = (int(index) for index in np.argwhere(~np.isfinite(table))[0])
        raise BadFile(f"{path}: {names[column]}[{row}] is {table[row, column]}; finite numbers are needed")
    return table
