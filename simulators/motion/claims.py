"""Claims of cars on ways across junctions, in the order of their times.

A car that may enter has a claim on its way. The car with the later claim waits before the place where both ways meet
until the other car has left it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.conflicts import CROSS, JOIN, Conflicts
from simulators.motion.curves import Floats
from simulators.motion.lanes import NONE
from simulators.motion.places import Places
from simulators.motion.routes import Routes

_OVERRUN = 3.0
"""Distance behind its stop line up to which a car without a claim has not entered the junction, m."""
_NEVER = 1e6
"""Time of the claim of a car that slid into the junction without a claim, s: it waits for all others."""
_TIE = 1e-6
"""Difference between claims of the same time, s."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims on E ways that cars are on or may enter, [E] each."""

    car: NDArray[np.intp]
    way: NDArray[np.intp]
    begin: Floats
    """Start of the way from the start of the car's route, m."""
    since: Floats
    """Time of the claim, s."""


@dataclass(frozen=True, slots=True)
class Coming:
    """Next way across a junction of each of N cars, [N] each."""

    way: NDArray[np.intp]
    """Number of the way; -1 if there is none ahead."""
    slot: NDArray[np.intp]
    """Position of the way among the lanes of the route; 0 if there is none ahead."""
    begin: Floats
    """Stop line of the way from the start of the route, m; infinite if there is none ahead."""
    distance: Floats
    """Distance from the front of the car to the stop line, m."""

    @property
    def some(self) -> NDArray[np.bool_]:
        """Mask of the cars that have a way across a junction ahead."""
        return np.asarray(self.way != NONE)


def look(
    routes: Routes, here: Places, since: Floats, lengths: Floats, there: NDArray[np.bool_]
) -> tuple[Claims, Coming]:
    """Return the claims that cars hold and the next way of each car.

    Args:
        since: time at which a claim on each lane of each route was granted, s, [N, lanes of a route]; infinite if none.
        lengths: lengths of ways, m.
    """
    rows = np.arange(len(here.front))
    is_way = (routes.ways != NONE) & there[:, None]
    claimed = np.isfinite(since)
    entered = routes.starts <= here.front[:, None] - np.where(claimed, 0.0, _OVERRUN)
    to_come = is_way & ~entered
    slot = to_come.argmax(axis=1)
    some = to_come[rows, slot]
    begin = np.where(some, routes.starts[rows, slot], np.inf)
    coming = Coming(np.where(some, routes.ways[rows, slot], NONE), slot, begin, begin - here.front)
    end = routes.starts + np.where(is_way, lengths[routes.ways], 0)
    held = is_way & ((entered & (here.rear[:, None] < end)) | (~entered & claimed))
    car, lane = np.nonzero(held)
    times = np.where(claimed, since, _NEVER)[car, lane]
    return Claims(car, routes.ways[car, lane], routes.starts[car, lane], times), coming


def holds(claims: Claims, conflicts: Conflicts, here: Places) -> Floats:
    """Return the place on its route at which each of N cars waits for older claims, m; infinite if it need not wait."""
    stops = np.full(len(here.front), np.inf)
    if len(claims.car) < 2:
        return stops
    own, other = claims.way[:, None], claims.way[None]
    kind = conflicts.kind[own, other]
    tail = (here.rear[claims.car] - claims.begin)[None]
    nose = here.front[claims.car] - claims.begin
    crossing = (kind == CROSS) & (tail < conflicts.end[other, own])
    joining = (kind == JOIN) & (nose[None] < conflicts.start[other, own] + 1.0)
    since = claims.since + _TIE * claims.car
    before = nose[:, None] < conflicts.start[own, other] + 0.5
    wait = (since[None] < since[:, None]) & before & (crossing | joining)
    place = np.where(wait, conflicts.start[own, other], np.inf).min(axis=1)
    np.minimum.at(stops, claims.car, claims.begin + place)
    return stops
