"""Who may enter a junction: lights, stop signs, priority, gaps in the traffic, room behind it.

A car that may enter has a claim on its way across. Claims have an order, that of their time: whoever claimed later
waits before the place where both ways meet until the other has left it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.simulator.conflicts import CROSS, JOIN, Conflicts
from models.tasks.motion.simulator.curves import Floats

_MOST_WAIT = 3.5
"""After so many seconds at a stop line a car is not waited for any more, s."""
_SLOWEST = 2.0
"""Cars that are to cross are taken to be as fast at least, m/s."""
_CLEAR_YELLOW = 3.0
"""Braking that drivers accept when a light turns yellow, m/s²."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Of E ways across junctions that cars are on or may enter, [E] each."""

    car: NDArray[np.intp]
    way: NDArray[np.intp]
    begin: Floats
    """Of the way, from the start of the car's route, m."""
    since: Floats
    """s."""


@dataclass(frozen=True, slots=True)
class Coming:
    """Cars before a junction, [N] each."""

    way: NDArray[np.intp]
    """Next way across; -1 where none comes."""
    begin: Floats
    """Its stop line, from the start of the route, m."""
    distance: Floats
    """From the front to it, m."""


def holds(claims: Claims, conflicts: Conflicts, front: Floats, rear: Floats, count: int) -> Floats:
    """Where on its route each of N cars has to wait for older claims, m; infinite where nowhere."""
    found = np.full(count, np.inf)
    if len(claims.car) < 2:
        return found
    own, other = claims.way[:, None], claims.way[None]
    kind = conflicts.kind[own, other]
    tail = (rear[claims.car] - claims.begin)[None]
    nose = front[claims.car] - claims.begin
    crossing = (kind == CROSS) & (tail < conflicts.end[other, own])
    joining = (kind == JOIN) & (nose[None] < conflicts.start[other, own] + 1.0)
    older = claims.since[None] + 1e-6 * claims.car[None] < claims.since[:, None] + 1e-6 * claims.car[:, None]
    before = nose[:, None] < conflicts.start[own, other] + 0.5
    wait = older & before & (crossing | joining)
    place = np.where(wait, conflicts.start[own, other], np.inf).min(axis=1)
    np.minimum.at(found, claims.car, claims.begin + place)
    return found


def travel(distance: Floats, speed: Floats, limit: Floats) -> Floats:
    """Rough time to go a distance, s: at the mean of speed and limit."""
    return np.asarray(np.maximum(distance, 0) / np.maximum((speed + limit) / 2, _SLOWEST) + np.where(speed < 1, 0.6, 0))


def admit(
    claims: Claims,
    coming: Coming,
    candidates: NDArray[np.intp],
    conflicts: Conflicts,
    rank: NDArray[np.intp],
    limit: Floats,
    *,
    front: Floats,
    speed: Floats,
    length: Floats,
    patience: Floats,
    rivals: NDArray[np.bool_],
) -> list[int]:
    """Which of the candidates may enter now, in the order of their claims.

    Args:
        candidates: cars before their stop line whom light, sign and queue would let go.
        rank: of each way.
        limit: speed of each way, m/s.
        front: of all cars, from the start of the route, m.
        rivals: cars without a claim that may come as well; they count where their rank is higher.
    """
    way = coming.way
    arrival = travel(coming.distance, speed, limit[way])
    order = sorted(candidates, key=lambda car: (-rank[way[car]], arrival[car]))
    admitted: list[int] = []
    held_way, held_car, held_begin = claims.way, claims.car, claims.begin
    for car in order:
        own = way[car]
        v, top = speed[car], limit[own]
        kinds = conflicts.kind[own, held_way]
        meets = kinds >= CROSS
        if meets.any():
            other, others = held_way[meets], held_car[meets]
            into = travel(coming.distance[car] + conflicts.start[own, other], v, top)
            gone = front[others] - held_begin[meets]
            out = conflicts.end[other, own] + length[others] - gone
            left = np.where(
                speed[others] < 0.5, np.maximum(out, 0) / 2.5 + 1.5, travel(out, speed[others], limit[other])
            )
            left = np.where(
                kinds[meets] == JOIN, travel(conflicts.start[other, own] - gone, speed[others], limit[other]), left
            )
            if ((into < left + 0.3 * patience[car]) & (out > 0)).any():
                continue
        higher = rivals & (rank[way] > rank[own]) & (conflicts.kind[own, way] >= CROSS)
        higher[car] = False
        if higher.any():
            others = np.flatnonzero(higher)
            other = way[others]
            through = travel(coming.distance[car] + conflicts.end[own, other] + length[car], v, top)
            into = travel(coming.distance[car] + conflicts.start[own, other], v, top)
            theirs = travel(coming.distance[others] + conflicts.start[other, own], speed[others], limit[other])
            gone_by = travel(
                coming.distance[others] + conflicts.end[other, own] + length[others], speed[others], limit[other]
            )
            if ((theirs < through + patience[car]) & (into < gone_by + 0.5 * patience[car])).any():
                continue
        admitted.append(int(car))
        held_way = np.append(held_way, own)
        held_car = np.append(held_car, car)
        held_begin = np.append(held_begin, coming.begin[car])
    return admitted


def stops_for_yellow(distance: Floats, speed: Floats) -> NDArray[np.bool_]:
    """Who can still stop before the line when the light turns yellow."""
    return np.asarray(distance > speed**2 / (2 * _CLEAR_YELLOW) + 0.2 * speed)


def tired(waited: Floats) -> NDArray[np.bool_]:
    """Who stood at the line for so long that others go first."""
    return np.asarray(waited > _MOST_WAIT)
