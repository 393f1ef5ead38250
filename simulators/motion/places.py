"""Positions of cars on routes and lanes, and the car ahead of each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.curves import Floats
from simulators.motion.lanes import NONE
from simulators.motion.routes import Routes

ASIDE = 1.7
"""Distance to the side of its lane beyond which a car does not block others, m."""


@dataclass(frozen=True, slots=True)
class Places:
    """Positions of N cars along their routes, m."""

    middle: Floats
    front: Floats
    rear: Floats
    lane: NDArray[np.intp]
    """Lane of the car's middle."""
    inside: Floats
    """Position of the middle along the lane, m."""


@dataclass(slots=True)
class Leaving:
    """Lanes that cars in a lane change still occupy."""

    lane: NDArray[np.intp]
    """Previous lane; -1 for cars without a lane change, [N]."""
    begun: Floats
    """Distance along that lane at which the car's route began, m."""
    until: Floats
    """Distance along its route at which the car has left that lane, m."""


def locate(routes: Routes, along: Floats, wheelbase: Floats, length: Floats) -> Places:
    """Return the places of cars whose rear axles are ``along`` their routes, m."""
    middle = along + wheelbase / 2
    rows = np.arange(len(along))
    slot = np.maximum((routes.starts <= middle[:, None]).sum(axis=1) - 1, 0)
    return Places(
        middle,
        middle + length / 2,
        middle - length / 2,
        routes.lanes[rows, slot],
        middle - routes.starts[rows, slot],
    )


def leaders(
    routes: Routes,
    here: Places,
    length: Floats,
    speed: Floats,
    there: NDArray[np.bool_],
    leaving: Leaving,
    across: NDArray[np.bool_],
) -> tuple[Floats, Floats]:
    """Return the rear of the next car on each car's route, m, and its speed, m/s.

    Args:
        across: mask of the lanes that are ways across a junction: others may part from them and join them.
    """
    lane = here.lane
    place = np.take(routes.start, lane, axis=1) + here.inside
    crossing = np.flatnonzero(across[lane])
    if len(crossing):
        way, inside, half = lane[crossing], here.inside[crossing], length[crossing] / 2
        tail_on = inside - half < routes.parted_until[:, way]
        nose_in = inside + half > routes.joined_from[:, way]
        beside = np.minimum(
            np.where(tail_on, routes.parted[:, way], np.inf), np.where(nose_in, routes.joined[:, way], np.inf)
        )
        place[:, crossing] = np.minimum(place[:, crossing], beside + inside)
    for car in np.flatnonzero(leaving.lane != NONE):
        still = routes.start[:, leaving.lane[car]] + leaving.begun[car] + here.middle[car]
        place[:, car] = np.minimum(place[:, car], np.where(np.isfinite(still), still, np.inf))
    place[:, ~there | (aside(routes, here.middle) > ASIDE)] = np.inf
    np.fill_diagonal(place, np.inf)
    rear = np.where(place > here.middle[:, None], place, np.inf) - length / 2
    rows = np.arange(len(lane))
    nearest = rear.argmin(axis=1)
    gap = rear[rows, nearest]
    return gap, np.where(np.isfinite(gap), speed[nearest], 0.0)


def aside(routes: Routes, along: Floats) -> Floats:
    """Return how far each car's line is to the right of its lane, m."""
    low = np.clip(along.astype(np.intp), 0, routes.aside.shape[1] - 1)
    return np.asarray(routes.aside[np.arange(len(along)), low])
