"""Right of way at junctions: lights, stop signs, priority, gaps in the traffic, room behind the junction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion import lights
from simulators.motion.claims import Claims, Coming
from simulators.motion.conflicts import CROSS, JOIN
from simulators.motion.curves import Floats
from simulators.motion.drivers import Drivers
from simulators.motion.ground import Ground
from simulators.motion.lanes import NONE

_GO = (lights.GREEN, lights.BLINKING)
_MOST_WAIT = 3.5
"""Time at a stop line after which others stop waiting for a car, s."""
_SLOWEST = 2.0
"""Smallest speed assumed for cars that are to cross, m/s."""
_YELLOW_BRAKING = 3.0
"""Braking that drivers accept when a light turns yellow, m/s²."""
_ANTICIPATED = 1.2
"""Braking at which drivers begin to negotiate a junction, m/s²."""
_FARTHEST = 90.0
"""Distance from the junction beyond which other cars do not count, m."""


@dataclass(slots=True)
class Patience:
    """Memory of cars before junctions, [N] each."""

    since: Floats
    """Time at which the claim on each lane of the route was granted, s, [N, lanes of a route]; infinite if none."""
    waited: Floats
    """Time that a car has stood at its stop line, s."""
    stopped: NDArray[np.bool_]
    """Mask of the cars that have stopped before their stop sign."""


def update(
    memory: Patience,
    ground: Ground,
    who: Drivers,
    claims: Claims,
    coming: Coming,
    *,
    front: Floats,
    speed: Floats,
    leader: tuple[Floats, Floats],
    states: NDArray[np.int64],
    time: float,
    step: float,
) -> bool:
    """Revoke claims of cars before a light that is no longer green, grant new ones, and return whether any changed.

    Args:
        front: positions of the cars' fronts along their routes, m.
        leader: rear of the next car on the route, m, and its speed, m/s.
        states: current states of all lights.
        step: time since the last update, s.
    """
    rows = np.arange(len(front))
    green = _green(ground, coming, states)
    claimed = coming.some & np.isfinite(memory.since[rows, coming.slot])
    stoppable = coming.distance > speed**2 / (2 * _YELLOW_BRAKING) + 0.2 * speed
    revoked = claimed & ~green & stoppable
    memory.since[rows[revoked], coming.slot[revoked]] = np.inf
    claimed &= ~revoked
    at_line = coming.some & (coming.distance < 4) & (speed < 0.3)
    memory.waited = np.where(at_line, memory.waited + step, np.where(speed > 1, 0.0, memory.waited))
    memory.stopped = (memory.stopped & (coming.distance < 6)) | at_line

    ready = coming.some & ~claimed & green & _attentive(ground, who, memory, coming, speed, leader)
    candidates = np.flatnonzero(ready)
    if not len(candidates):
        return bool(revoked.any())
    kept = ~(revoked[claims.car] & (claims.begin == coming.begin[claims.car]))
    held = Claims(claims.car[kept], claims.way[kept], claims.begin[kept], claims.since[kept])
    rivals = coming.some & ~claimed & green & (memory.waited < _MOST_WAIT) & (coming.distance < _FARTHEST)
    admitted = _admitted(ground, who, held, coming, candidates, rivals, front, speed)
    for order, car in enumerate(admitted):
        memory.since[car, coming.slot[car]] = time + 1e-4 * order
    return bool(admitted) or bool(revoked.any())


def _green(ground: Ground, coming: Coming, states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each car's light is green; true if there is no light."""
    signal = np.where(coming.some, ground.signal[coming.way], NONE)
    green = np.ones(len(signal), bool)
    lit = signal != NONE
    green[lit] = np.isin(states[signal[lit]], _GO)
    return green


def _attentive(
    ground: Ground, who: Drivers, memory: Patience, coming: Coming, speed: Floats, leader: tuple[Floats, Floats]
) -> NDArray[np.bool_]:
    """Return which cars are near enough to enter, have stopped at a stop sign, have room behind, and come next."""
    near = coming.distance < 8 + speed + speed**2 / (2 * _ANTICIPATED)
    sign = coming.some & ground.stop_sign[coming.way]
    begin = np.where(coming.some, coming.begin, 0.0)
    rear, pace = leader
    room = (rear - begin - ground.length[coming.way] > who.length + 2) | (pace > 3)
    # a car behind another may enter when the other has passed the line, or is about to
    first = (rear > begin) | (pace > 2)
    return np.asarray(near & (~sign | memory.stopped) & room & first)


def _travel(distance: Floats, speed: Floats, pace: Floats) -> Floats:
    """Return the rough time to cover a distance, s, at the mean of speed and pace."""
    start = np.where(speed < 1, 0.6, 0)
    return np.asarray(np.maximum(distance, 0) / np.maximum((speed + pace) / 2, _SLOWEST) + start)


def _admitted(
    ground: Ground,
    who: Drivers,
    held: Claims,
    coming: Coming,
    candidates: NDArray[np.intp],
    rivals: NDArray[np.bool_],
    front: Floats,
    speed: Floats,
) -> list[int]:
    """Return the candidates that may enter now, in the order of their claims: by rank, then by arrival."""
    way, rank = coming.way, ground.rank
    arrival = _travel(coming.distance, speed, ground.pace[way])
    order = sorted(candidates.tolist(), key=lambda car: (-int(rank[way[car]]), float(arrival[car])))
    admitted: list[int] = []
    held_way, held_car, held_begin = held.way, held.car, held.begin
    for car in order:
        own = way[car]
        meets = ground.network.conflicts.kind[own, held_way] >= CROSS
        if meets.any() and _blocked(
            ground, who, coming, car, held_way[meets], held_car[meets], held_begin[meets], front, speed
        ):
            continue
        higher = rivals & (rank[way] > rank[own]) & (ground.network.conflicts.kind[own, way] >= CROSS)
        higher[car] = False
        if higher.any() and _first_come(ground, who, coming, car, np.flatnonzero(higher), speed):
            continue
        admitted.append(car)
        held_way, held_car = np.append(held_way, own), np.append(held_car, car)
        held_begin = np.append(held_begin, coming.begin[car])
    return admitted


def _blocked(
    ground: Ground,
    who: Drivers,
    coming: Coming,
    car: int,
    other: NDArray[np.intp],
    others: NDArray[np.intp],
    begin: Floats,
    front: Floats,
    speed: Floats,
) -> bool:
    """Return whether a car would reach a conflict with the way of an older claim before that car has left it."""
    own, conflicts = coming.way[car], ground.network.conflicts
    into = _travel(coming.distance[car] + conflicts.start[own, other], speed[car], ground.pace[own])
    gone = front[others] - begin
    out = conflicts.end[other, own] + who.length[others] - gone
    theirs, pace = speed[others], ground.pace[other]
    until = np.where(theirs < 0.5, np.maximum(out, 0) / 2.5 + 1.5, _travel(out, theirs, pace))
    joins = conflicts.kind[own, other] == JOIN
    until = np.where(joins, _travel(conflicts.start[other, own] - gone, theirs, pace), until)
    return bool(((into < until + 0.3 * who.patience[car]) & (out > 0)).any())


def _first_come(
    ground: Ground, who: Drivers, coming: Coming, car: int, others: NDArray[np.intp], speed: Floats
) -> bool:
    """Return whether a car with priority would come while a car crosses its way, or shortly after."""
    own, other, conflicts = coming.way[car], coming.way[others], ground.network.conflicts
    pace = ground.pace
    into = _travel(coming.distance[car] + conflicts.start[own, other], speed[car], pace[own])
    through = _travel(coming.distance[car] + conflicts.end[own, other] + who.length[car], speed[car], pace[own])
    distance, theirs = coming.distance[others], speed[others]
    come = _travel(distance + conflicts.start[other, own], theirs, pace[other])
    gone = _travel(distance + conflicts.end[other, own] + who.length[others], theirs, pace[other])
    patience = who.patience[car]
    return bool(((come < through + patience) & (into < gone + 0.5 * patience)).any())
