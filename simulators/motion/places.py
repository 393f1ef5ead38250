"""Where each car is on its route and on which lane, and who is ahead of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.curves import Floats
from simulators.motion.lanes import NONE
from simulators.motion.routes import Routes

ASIDE = 1.7
"""A car that is farther to the side of its lane is in nobody's way, m."""


@dataclass(frozen=True, slots=True)
class Places:
    """Of N cars, along their routes, m."""

    middle: Floats
    front: Floats
    rear: Floats
    lane: NDArray[np.intp]
    """That the middle is on."""
    inside: Floats
    """Of the middle, along the lane, m."""


@dataclass(slots=True)
class Leaving:
    """Cars that change lanes are still on the lane that they come from."""

    lane: NDArray[np.intp]
    """-1 for cars that change nothing, [N]."""
    begun: Floats
    """How far along that lane the car's route began, m."""
    until: Floats
    """How far along its route the car is off that lane, m."""


def locate(routes: Routes, along: Floats, wheelbase: Floats, length: Floats) -> Places:
    """Places of cars whose rear axles are ``along`` their routes, m."""
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
    """Rear of the next car on each car's route, m, and its speed, m/s.

    Args:
        across: whether each lane is a way across a junction: others may part from it and join it.
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
    found = rear[rows, nearest]
    return found, np.where(np.isfinite(found), speed[nearest], 0.0)


def aside(routes: Routes, along: Floats) -> Floats:
    """How far each car's line is to the right of its lane, m."""
    low = np.clip(along.astype(np.intp), 0, routes.aside.shape[1] - 1)
    return np.asarray(routes.aside[np.arange(len(along)), low])
