"""Road network as arrays, for computations over all cars at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.curves import Floats
from simulators.motion.lanes import NONE
from simulators.motion.network import Network

_THROUGH_TURNS = 9.0
"""Largest speed assumed for cars that turn at a junction, m/s."""
_STRAIGHT = 1


@dataclass(frozen=True, slots=True)
class Ground:
    """Arrays of ways across junctions, lights over time, and crossings on lanes."""

    network: Network
    rank: NDArray[np.intp]
    """Rank of each way across a junction, [ways]."""
    pace: Floats
    """Speed assumed for cars on the way, m/s."""
    length: Floats
    """Length of the way, m."""
    signal: NDArray[np.intp]
    """Number of the light of the way; -1 if there is none."""
    stop_sign: NDArray[np.bool_]
    lights: NDArray[np.int64]
    """States of lights over time, [ticks, lights]."""
    span_crossing: NDArray[np.intp]
    """Number of the crossing at each place where a crossing lies on a lane, [spans]."""
    span_lane: NDArray[np.intp]
    span_from: Floats
    """Start of the span along the lane, m."""
    span_to: Floats
    crossing_signal: NDArray[np.intp]
    """Number of the light of each crossing; -1 if there is none."""
    across: NDArray[np.bool_]
    """Mask of the lanes that are ways across a junction, [lanes]."""
    crossing_painted: NDArray[np.bool_]
    """Mask of the crossings at which cars give way to waiting people."""


def prepare(network: Network, seconds: float, step: float) -> Ground:
    """Return the arrays of a network for traffic of ``seconds`` seconds in steps of ``step`` seconds."""
    lanes = [network.lanes[way] for way in network.conflicts.ways]
    times = np.arange(0, seconds + 2 * step, step)
    states = [programme.states(times) for programme in network.lights]
    spans = [(number, *span) for number, crossing in enumerate(network.crossings) for span in crossing.spans]
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
        np.array([crossing.signal for crossing in network.crossings], np.intp),
        network.conflicts.number != NONE,
        np.array([len(crossing.outline) > 0 for crossing in network.crossings], bool),
    )
