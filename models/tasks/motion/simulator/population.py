"""Where cars are when the traffic begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.simulator import lights
from models.tasks.motion.simulator.cities import City
from models.tasks.motion.simulator.curves import Floats
from models.tasks.motion.simulator.lanes import NONE
from models.tasks.motion.simulator.network import Network

_RADIUS = 280.0
"""Cars farther from the middle do not come into sight, m."""
_LEAVING = 150.0
"""As ``_RADIUS``, of lanes on which one only drives away, m."""
_SPACE = 14.0
"""Between middles of cars at least, m."""
_QUEUED = 14.0
"""Between middles of cars that wait, so that trucks have room, m."""
_NEAR = 120.0
"""Streets are counted within this distance, m."""


@dataclass(frozen=True, slots=True)
class Start:
    """Of N cars, [N]."""

    lane: NDArray[np.intp]
    along: Floats
    """Rear axle along the lane, m."""
    speed: Floats
    """m/s."""
    street: float
    """Length of the streets near the middle, m."""


def place(rng: np.random.Generator, city: City, network: Network) -> Start:
    """Cars spread over the lanes of roads; some wait before red lights."""
    lanes, along, speed = [], [], []
    street = 0.0
    state = {}
    for programme in network.lights:
        for offset, value in enumerate(programme.states(np.zeros(1))[0]):
            state[lights.SIGNALS * programme.number + offset] = int(value)
    busy = rng.gamma(4.0, 0.25)
    for number, lane in enumerate(network.lanes):
        if lane.road == NONE:
            continue
        distance = np.hypot(*lane.points.T)
        street += float((distance < _NEAR).sum()) / 2
        position = lane.length - 10.0
        signals = {network.lanes[way].signal for way in network.successors[number]} - {NONE}
        if any(state[signal] not in (lights.GREEN, lights.BLINKING) for signal in signals):
            for _ in range(rng.poisson(1.2 * busy * city.density / 12)):
                if position < 8:
                    break
                lanes.append(number)
                along.append(position)
                speed.append(0.0)
                position -= _QUEUED
        while True:
            position -= rng.exponential(max(1000 / (city.density * busy) - _SPACE, 4.0))
            if position < 8:
                break
            if distance[min(int(position), len(distance) - 1)] < (_RADIUS if network.successors[number] else _LEAVING):
                lanes.append(number)
                along.append(position)
                speed.append(rng.uniform(0.6, 1.0) * lane.limit)
            position -= _SPACE
    return Start(np.array(lanes, np.intp), np.array(along), np.array(speed), street)
