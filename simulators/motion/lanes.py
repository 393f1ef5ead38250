"""Parts of a road network: lanes, crossings and the draft that collects them."""

from dataclasses import dataclass, field

import numpy as np

from simulators.motion.curves import Points, lengths

NONE = -1
CROSSWALK = (0.8, 4.3)
"""Distances from the stop line to the crosswalk's edges, m."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a road between two junctions, or one way across a junction."""

    points: Points
    """Centre line in the direction of driving, points about 1 m apart."""
    limit: float
    """Speed limit, m/s."""
    road: int = NONE
    """Number of the road; lanes of roads only."""
    main: bool = False
    """True for a lane of a main road; lanes of roads only."""
    rightmost: bool = False
    """True for the lane beside the kerb; lanes of roads only."""
    kerb: float = 0.0
    """Distance from the centre line to the kerb on the right, m."""
    junction: int = NONE
    """Number of the junction; ways across only."""
    rank: int = 0
    """Priority of a way across: lower ranks give way to higher ones, equal ranks go in the order of arrival."""
    gives_way: bool = False
    signal: int = NONE
    """Number of the traffic light of the lane."""
    stop: bool = False
    """True if all vehicles have to stop before the way."""
    movement: int = NONE
    """Direction of a way across: 0 left, 1 straight on, 2 right."""

    @property
    def length(self) -> float:
        return float(lengths(self.points)[-1])


@dataclass(frozen=True, slots=True)
class Crossing:
    """Place at which people cross a carriageway."""

    line: Points
    """Line from kerb to kerb, [2, 2]."""
    outline: Points
    """Corners of the painted area, [4, 2]; empty if nothing is painted."""
    spans: tuple[tuple[int, float, float], ...]
    """Lanes that the crossing covers, each with the start and end of the span along the lane, m."""
    signal: int = NONE
    """Number of the pedestrian light."""


@dataclass(slots=True)
class Draft:
    """Road network under construction: lists that its parts add to."""

    lanes: list[Lane] = field(default_factory=list)
    successors: dict[int, list[int]] = field(default_factory=dict)
    beside: dict[int, list[int]] = field(default_factory=dict)
    """Neighbouring lanes of the same direction, by lane."""
    polygons: list[Points] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    pavements: list[Points] = field(default_factory=list)
    kerbs: list[tuple[Points, bool]] = field(default_factory=list)
    """Kerb lines of roads in the direction of driving beside them, and whether parking is allowed along them."""

    def add(self, lane: Lane) -> int:
        self.lanes.append(lane)
        return len(self.lanes) - 1

    def follow(self, before: int, after: int) -> None:
        self.successors.setdefault(before, []).append(after)


def rectangle(middle: Points, along: Points, length: float, width: float) -> Points:
    """Return the corners of a box around a point with a unit direction, counter-clockwise, [4, 2]."""
    across = np.array([-along[1], along[0]])
    halves = [(1, -1), (1, 1), (-1, 1), (-1, -1)]
    return np.stack([middle + sign * length / 2 * along + side * width / 2 * across for sign, side in halves])
