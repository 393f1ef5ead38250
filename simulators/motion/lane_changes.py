"""Lane changes: gap check on the other lane and a smooth line to it."""

import math

import numpy as np
from numpy.typing import NDArray

from simulators.motion import routes
from simulators.motion.curves import Floats, Points
from simulators.motion.drivers import Drivers
from simulators.motion.network import Network
from simulators.motion.places import Places
from simulators.motion.routes import Routes

_SECONDS = 3.6
"""Shortest duration of a change, s."""
_SHORTEST = 15.0
"""Shortest length of a change, m."""
_SAFE = 2.0
"""Smallest distance to other cars on the new lane, m."""


def glide(speed: float, cornering: float) -> float:
    """Return the length of a lane change, m."""
    return max(_SHORTEST, _SECONDS * speed * math.sqrt(max(1.0, 2.4 / cornering)))


def has_gap(
    car: int, lane: int, inside: float, here: Places, who: Drivers, speed: Floats, there: NDArray[np.bool_]
) -> bool:
    """Return whether the place ``inside`` metres along another lane leaves all cars there enough room."""
    others = there & (here.lane == lane)
    others[car] = False
    if not others.any():
        return True
    apart = here.inside[others] - inside
    clear = np.abs(apart) - (who.length[others] + who.length[car]) / 2 - _SAFE
    own, theirs = speed[car], speed[others]
    ahead = 0.6 * own * who.gap[car] + np.maximum(own - theirs, 0) * 2.5
    behind = 0.8 * theirs * who.gap[others] + np.maximum(theirs - own, 0) * 3.5
    return bool((clear > np.where(apart > 0, ahead, behind)).all())


def change(
    rng: np.random.Generator,
    ways: Routes,
    network: Network,
    car: int,
    lane: int,
    inside: float,
    *,
    rear: float,
    length: float,
    distance: float,
    turns: tuple[float, float, float],
    style: routes.Style,
) -> None:
    """Give a car a route on another lane whose line begins at the car.

    Args:
        inside: position of the rear axle along the new lane, m.
        rear: position of the rear axle along the previous route, m.
        length: length of the change, m.
        distance: smallest length of the new route, m.
    """
    old = routes_ahead(ways, car, rear)

    def moved(line: Points, along: Floats) -> tuple[Points, Floats]:
        share = np.clip(along / length, 0, 1)
        weight = (share**3 * (10 - 15 * share + 6 * share**2))[:, None]
        return old * (1 - weight) + line * weight, np.zeros(len(along))

    chain = routes.choose(rng, network, lane, inside + distance, turns)
    routes.set_route(ways, car, network, chain, inside, style, moved)


def routes_ahead(ways: Routes, car: int, begin: float) -> Points:
    """Return the line of a car from ``begin`` on, with as many points as a line has; its end continues straight."""
    known = np.arange(ways.points.shape[1], dtype=np.float64)
    along = begin + known
    line = ways.points[car]
    ahead = np.stack([np.interp(along, known, line[:, axis]) for axis in (0, 1)], axis=1)
    return np.asarray(ahead + np.maximum(along - known[-1], 0)[:, None] * (line[-1] - line[-2]))
