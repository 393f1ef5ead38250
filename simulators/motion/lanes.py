"""What a quarter consists of for those who drive, walk or draw in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simulators.motion.curves import Points, lengths

NONE = -1
CROSSWALK = (0.8, 4.3)
"""From the stop line to the crosswalk's edges, m."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a road between two junctions, or one way across a junction."""

    points: Points
    """Centre line in the direction of driving, about 1 m apart."""
    limit: float
    """m/s."""
    road: int = NONE
    """Of lanes of roads."""
    main: bool = False
    """Of lanes of roads: whether it is a main one."""
    rightmost: bool = False
    """Of lanes of roads: whether the kerb is beside it."""
    kerb: float = 0.0
    """From the centre line to the kerb on the right, m."""
    junction: int = NONE
    """Of ways across."""
    rank: int = 0
    """Of ways across: lower ones give way to higher ones, equal ones in the order of arrival."""
    gives_way: bool = False
    signal: int = NONE
    """Number of the light that rules it."""
    stop: bool = False
    """Whether everybody has to stop before it."""
    movement: int = NONE
    """Of ways across: 0 left, 1 straight on, 2 right."""

    @property
    def length(self) -> float:
        return float(lengths(self.points)[-1])


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where people cross a carriageway."""

    line: Points
    """From kerb to kerb, [2, 2]."""
    outline: Points
    """[4, 2]; empty where nothing is painted."""
    spans: tuple[tuple[int, float, float], ...]
    """Lanes that it crosses, from where to where along them, m."""
    signal: int = NONE
    """Number of the pedestrians' light."""


@dataclass(slots=True)
class Draft:
    """A network being built: lists that parts of it add to."""

    lanes: list[Lane] = field(default_factory=list)
    successors: dict[int, list[int]] = field(default_factory=dict)
    beside: dict[int, list[int]] = field(default_factory=dict)
    """Neighbouring lanes of the same direction."""
    polygons: list[Points] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    pavements: list[Points] = field(default_factory=list)
    kerbs: list[tuple[Points, bool]] = field(default_factory=list)
    """Kerb lines of roads in the direction of driving beside them, and whether cars may be parked along."""

    def add(self, lane: Lane) -> int:
        self.lanes.append(lane)
        return len(self.lanes) - 1

    def follow(self, before: int, after: int) -> None:
        self.successors.setdefault(before, []).append(after)


def rectangle(middle: Points, along: Points, length: float, width: float) -> Points:
    """Corners of a box around a point with a unit direction, counter-clockwise, [4, 2]."""
    across = np.array([-along[1], along[0]])
    halves = [(1, -1), (1, 1), (-1, 1), (-1, -1)]
    return np.stack([middle + sign * length / 2 * along + side * width / 2 * across for sign, side in halves])
