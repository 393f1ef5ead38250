"""Conflicts of ways across a junction: pairs that part, cross or join."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.curves import Floats, resampled
from simulators.motion.lanes import NONE, Lane

APART = 2.5
"""Distance of centre lines from which vehicles pass each other, m."""
PART, CROSS, JOIN = 1, 2, 3
_STEP = 1.6
"""Distance of the points of ways that are compared, m."""


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Conflicts of every way with every other, [ways, ways]."""

    ways: NDArray[np.intp]
    """Lanes that are ways across junctions."""
    number: NDArray[np.intp]
    """Number of each lane among the ways; -1 for other lanes."""
    kind: NDArray[np.int8]
    """Kind of the conflict; 0 for ways that never meet."""
    start: Floats
    """Distance along the first way of a pair at which they meet, m; infinite if they do not."""
    end: Floats
    """Distance along the first way at which they are apart again, m; minus infinite if they do not meet."""


def find(lanes: list[Lane], successors: dict[int, list[int]]) -> Conflicts:
    """Return all conflicts of a network."""
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
        lines = [resampled(lanes[way].points, _STEP) for way in here]
        borders = np.concatenate([[0], np.cumsum([len(line) for line in lines])[:-1]])
        everything = np.concatenate(lines).astype(np.float32)
        for way, line in zip(here, lines, strict=True):
            squared = _squared(line.astype(np.float32), everything)
            near = np.minimum.reduceat(squared, borders, axis=1) < APART**2  # [points, ways]
            step = lanes[way].length / (len(line) - 1)
            for column in np.flatnonzero(near.any(axis=0)):
                other = here[column]
                if other == way:
                    continue
                at = np.flatnonzero(near[:, column])
                pair = number[way], number[other]
                parts, joins = before[way] == before[other], successors[way] == successors[other]
                kind[pair] = PART if parts else JOIN if joins else CROSS
                start[pair], end[pair] = (at[0] - 0.5) * step, (at[-1] + 0.5) * step
    return Conflicts(np.array(ways, np.intp), number, kind, start, end)


def _squared(points: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return squared distances, m², [points, others]."""
    x = points[:, None, 0] - others[None, :, 0]
    y = points[:, None, 1] - others[None, :, 1]
    return x * x + y * y
