"""Manoeuvres of cars that leave a place at the kerb or stop at one."""

from dataclasses import dataclass

import numpy as np

from simulators.motion.curves import Floats, Points, parallel
from simulators.motion.lanes import NONE
from simulators.motion.network import Network
from simulators.motion.streets import PARKING

OUT, IN = 14.0, 17.0
"""Distances along the road from the place to the lane and from the lane to the place, m."""
_FIRST = 18.0
"""Smallest distance of a place from the start of a lane, m."""
_ASIDE = 2.4
"""Smallest distance of a place from the middle of the lane, m."""
_LAST = 30.0
"""Smallest distance of a place from the end of the lane, m."""


@dataclass(frozen=True, slots=True)
class Place:
    """Parking place at the kerb of a lane."""

    lane: int
    along: float
    """Distance along the lane, m."""
    aside: float
    """Distance to the right of the lane's middle, m."""

    def point(self, network: Network) -> Points:
        """Return the position, [2], m."""
        line = parallel(network.lanes[self.lane].points, self.aside)
        return np.asarray(line[min(round(self.along), len(line) - 1)])


def draw(rng: np.random.Generator, network: Network, lane: int, begin: float = 0.0) -> Place | None:
    """Draw a place along a lane, at least ``begin`` metres along; None if parking is impossible there."""
    road_lane = network.lanes[lane]
    first, last = max(_FIRST, begin), float(network.lengths[lane]) - _LAST
    aside = road_lane.kerb - PARKING / 2 + 0.1
    if road_lane.road == NONE or not road_lane.rightmost or aside < _ASIDE or last <= first:
        return None
    return Place(lane, float(rng.uniform(first, last)), aside)


def leaving(line: Points, along: Floats, aside: float) -> tuple[Points, Floats]:
    """Return the line from a place at its start to the lane, and its distance aside of the lane."""
    shift = aside * (1 - _smooth((along - 1.0) / OUT))
    return parallel(line, shift), shift


def entering(line: Points, along: Floats, aside: float, place: float) -> tuple[Points, Floats]:
    """Return the line from the lane to a place ``place`` metres along it, and its distance aside of the lane."""
    shift = aside * _smooth((along - (place - IN)) / (IN - 2.0))
    return parallel(line, shift), shift


def _smooth(share: Floats) -> Floats:
    share = np.clip(share, 0, 1)
    return np.asarray(share**2 * (3 - 2 * share))
