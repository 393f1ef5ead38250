"""Rules of waiting between cars and pedestrians at crossings."""

import numpy as np
from numpy.typing import NDArray

from simulators.motion import lights
from simulators.motion.curves import Floats
from simulators.motion.ground import Ground
from simulators.motion.lanes import NONE
from simulators.motion.pedestrians import Walkers
from simulators.motion.places import Places
from simulators.motion.routes import Routes

_LINE = 0.9
"""Distance before a crossing at which cars stop, m."""


def holds(ground: Ground, walkers: Walkers, ways: Routes, here: Places, speed: Floats, hardest: float) -> Floats:
    """Return the place on its route at which each car waits for people, m; infinite if it need not wait.

    Cars wait for people on the road, and at painted crossings without lights also for people at the kerb, unless it is
    too late to brake.
    """
    count = len(ground.crossing_signal)
    if not count or not len(walkers):
        return np.full(len(speed), np.inf)
    courteous = ground.crossing_painted & (ground.crossing_signal == NONE)
    stepping = walkers.on_road() | (walkers.waiting() & courteous[walkers.crossing])
    busy = np.zeros(count, bool)
    busy[walkers.crossing[stepping]] = True
    blocked = busy[ground.span_crossing]
    if not blocked.any():
        return np.full(len(speed), np.inf)
    begin = ways.start[:, ground.span_lane[blocked]] + ground.span_from[blocked] - _LINE
    gap = begin - here.front[:, None]
    in_time = gap > speed[:, None] ** 2 / (2 * 0.6 * hardest) - 0.5
    return np.asarray(np.where(in_time & (gap > -0.5), begin, np.inf).min(axis=1))


def may_cross(
    ground: Ground,
    walkers: Walkers,
    ways: Routes,
    here: Places,
    speed: Floats,
    there: NDArray[np.bool_],
    hardest: float,
    states: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which walkers may step onto the road: no red light, and no car on the crossing or unable to stop."""
    may = np.ones(len(walkers), bool)
    asking = walkers.waiting()
    if not asking.any():
        return may
    count = len(ground.crossing_signal)
    requested = np.zeros(count, bool)
    requested[walkers.crossing[asking]] = True
    spans = np.flatnonzero(requested[ground.span_crossing])
    begin = ways.start[:, ground.span_lane[spans]] + ground.span_from[spans]
    gap = begin - here.front[:, None]
    width = (ground.span_to - ground.span_from)[spans]
    v = speed[:, None]
    passing = (gap < 0.5) & (here.rear[:, None] < begin + width + 0.3)
    # at crossings where cars need not stop for people at the kerb, people look farther
    caution = np.where(ground.crossing_painted, 0.35, 0.2)[ground.span_crossing[spans]]
    coming = (gap >= 0.5) & (gap < v**2 / (2 * caution * hardest) + 1 + 0.4 * v) & (v > 0.7)
    danger = ((passing | coming) & there[:, None]).any(axis=0)
    closed = np.zeros(count, bool)
    np.logical_or.at(closed, ground.span_crossing[spans], danger)
    lit = ground.crossing_signal != NONE
    closed[lit] |= states[ground.crossing_signal[lit]] != lights.GREEN
    may[asking] = ~closed[walkers.crossing[asking]]
    return may
