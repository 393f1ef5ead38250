"""Where ways across a junction meet: they part, they cross, or they join."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.simulator.curves import Floats
from models.tasks.motion.simulator.lanes import NONE, Lane

APART = 2.5
"""Vehicles on centre lines farther apart than this pass each other, m."""
PART, CROSS, JOIN = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Of every way with every other, [ways, ways]."""

    ways: NDArray[np.intp]
    """Lanes that are ways across junctions."""
    number: NDArray[np.intp]
    """Of each lane among the ways; -1 of others."""
    kind: NDArray[np.int8]
    """0 where they never meet."""
    start: Floats
    """How far along the first of a pair they come together, m; infinite where they do not."""
    end: Floats
    """How far along the first they are apart again, m; minus infinite where they do not meet."""


def find(lanes: list[Lane], successors: dict[int, list[int]]) -> Conflicts:
    """All conflicts of a network."""
    ways = [index for index, lane in enumerate(lanes) if lane.junction != NONE]
    number = np.full(len(lanes), NONE, np.intp)
    number[ways] = np.arange(len(ways))
    before = {way: lane for lane, following in successors.items() for way in following if lanes[way].junction != NONE}
    kind = np.zeros((len(ways), len(ways)), np.int8)
    start, end = np.full(kind.shape, np.inf), np.full(kind.shape, -np.inf)
    junctions: dict[int, list[int]] = defaultdict(list)
    for way in ways:
        junctions[lanes[way].junction].append(way)
    for here in junctions.values():
        points = np.concatenate([lanes[way].points for way in here])
        counts = np.array([len(lanes[way].points) for way in here])
        borders = np.concatenate([[0], np.cumsum(counts)[:-1]])
        squared = _squared(points)
        near = np.minimum.reduceat(squared, borders, axis=1) < APART**2  # [points, ways]
        for row, way in enumerate(here):
            own = near[borders[row] : borders[row] + counts[row]]
            step = lanes[way].length / (counts[row] - 1)
            for column in np.flatnonzero(own.any(axis=0)):
                other = here[column]
                if other == way:
                    continue
                at = np.flatnonzero(own[:, column])
                pair = number[way], number[other]
                kind[pair] = (
                    PART if before[way] == before[other] else JOIN if successors[way] == successors[other] else CROSS
                )
                start[pair] = at[0] * step - step
                end[pair] = at[-1] * step + step
    return Conflicts(np.array(ways, np.intp), number, kind, start, end)


def _squared(points: NDArray[Any]) -> NDArray[np.float32]:
    """Squared distances of all pairs, m²."""
    moved = np.asarray(points - points.mean(axis=0), np.float32)
    norm = (moved**2).sum(axis=1)
    return np.asarray(norm[:, None] + norm[None] - 2 * (moved @ moved.T))
