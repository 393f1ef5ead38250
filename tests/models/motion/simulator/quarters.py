"""Quarters drawn and traffic recorded once, for all tests of the simulator; and boxes of vehicles."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.protocol import motion_pb2
from simulators.motion import circumstances, network, recording, scene
from simulators.motion.cities import CITIES
from simulators.motion.network import Network
from simulators.motion.recording import Recording

Floats = NDArray[np.float64]
SEEDS = (0, 1)


@cache
def drawn(city: str, seed: int = 0) -> Network:
    return network.draw(np.random.default_rng([seed, 11]), CITIES[city])


@cache
def recorded(city: str, seed: int = 0) -> Recording:
    rng = np.random.default_rng([seed, 12])
    weather = circumstances.precipitation(rng, CITIES[city], canonical=False)
    return recording.record(rng, CITIES[city], weather)


@cache
def simulated(city: str, seed: int = 0) -> motion_pb2.Scene:
    return scene.simulate(np.random.default_rng([seed, 13]), CITIES[city], 0, f"{city}-{seed}")


def corners(x: Floats, y: Floats, yaw: Floats, size: Floats) -> Floats:
    """Of boxes around places [N] with lengths and widths [N, 2], [N, 4, 2]."""
    along = np.array([1, 1, -1, -1]) * size[:, :1] / 2
    aside = np.array([1, -1, -1, 1]) * size[:, 1:2] / 2
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    return np.stack([x[:, None] + cos * along - sin * aside, y[:, None] + sin * along + cos * aside], axis=-1)


def overlap(first: Floats, second: Floats) -> float:
    """How deep two boxes [4, 2] are in each other, m, by the separating axes; not above 0 if apart."""
    depth = np.inf
    for box in (first, second):
        for edge in (box[1] - box[0], box[2] - box[1]):
            normal = np.array([-edge[1], edge[0]]) / np.hypot(*edge)
            a, b = first @ normal, second @ normal
            depth = min(depth, min(a.max(), b.max()) - max(a.min(), b.min()))
    return float(depth)
