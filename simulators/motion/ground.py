"""A network as arrays, for those who look at all cars at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.curves import Floats
from simulators.motion.lanes import NONE
from simulators.motion.network import Network

_THROUGH_TURNS = 9.0
"""Cars are taken to pass a junction no faster where they turn, m/s."""
_STRAIGHT = 1


@dataclass(frozen=True, slots=True)
class Ground:
    """Ways across junctions, lights over time, and where crossings lie on lanes."""

    network: Network
    rank: NDArray[np.intp]
    """Of each way across a junction, [ways]."""
    pace: Floats
    """Speed that cars are taken to have on it, m/s."""
    length: Floats
    """m."""
    signal: NDArray[np.intp]
    """Number of its light; -1 without."""
    stop_sign: NDArray[np.bool_]
    lights: NDArray[np.int64]
    """States over time, [ticks, lights]."""
    span_crossing: NDArray[np.intp]
    """Of each place where a crossing lies on a lane: its number, [spans]."""
    span_lane: NDArray[np.intp]
    span_from: Floats
    """Along the lane, m."""
    span_to: Floats
    crossing_signal: NDArray[np.intp]
    """Of each crossing; -1 without."""
    across: NDArray[np.bool_]
    """Whether each lane is a way across a junction, [lanes]."""
    crossing_painted: NDArray[np.bool_]
    """Whether cars give way to those who wait at it."""


def prepare(network: Network, seconds: float, step: float) -> Ground:
    """Return a network for traffic of so many seconds, in steps of ``step`` seconds."""
    lanes = [network.lanes[way] for way in network.conflicts.ways]
    times = np.arange(0, seconds + 2 * step, step)
    states = [programme.states(times) for programme in network.lights]
    spans = [(number, *span) for number, one in enumerate(network.crossings) for span in one.spans]
    return Ground(
        network,
        np.array([lane.rank for lane in lanes], np.intp),
        np.array([lane.limit if lane.movement == _STRAIGHT else min(lane.limit, _THROUGH_TURNS) for lane in lanes]),
        network.lengths[network.conflicts.ways],
        network.signals[network.conflicts.ways],
        np.array([lane.stop for lane in lanes], bool),
        np.concatenate(states, axis=1) if states else np.empty((len(times), 0), np.int64),
        np.array([span[0] for span in spans], np.intp),
        np.array([span[1] for span in spans], np.intp),
        np.array([span[2] for span in spans], np.float64),
        np.array([span[3] for span in spans], np.float64),
        np.array([one.signal for one in network.crossings], np.intp),
        network.conflicts.number != NONE,
        np.array([len(one.outline) > 0 for one in network.crossings], bool),
    )
