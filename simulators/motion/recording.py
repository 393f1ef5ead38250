"""Recording of ten seconds of a quarter: all vehicles, people and lights in steps of 0.2 s."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion import ground, network, parking, pedestrians, population, traffic
from simulators.motion.city import City
from simulators.motion.curves import Floats, Points
from simulators.motion.network import Network
from simulators.motion.parking import STEP, Parked
from simulators.motion.pedestrians import Walkers
from simulators.motion.population import Cast
from simulators.motion.sensing import World
from simulators.motion.traffic import Moment, Traffic

PAST = FUTURE = 25
"""Number of steps before and after the present; the last past step is the present."""
_TICKS = round(STEP / traffic.DT)
_WARM_UP = 9.0
"""Duration of traffic before the recording begins, s."""
_PEOPLE = 115.0
"""Distance from the middle within which people are simulated, m."""
_FEWEST = 2
"""Smallest number of moving cars in a scene."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Recording of T = 50 steps; coordinates around (0, 0), m."""

    network: Network
    lots: tuple[Points, ...]
    """Areas of parking lots."""
    world: World
    """States of all vehicles: first those in traffic, then parked ones."""
    moving: int
    """Number of vehicles in traffic."""
    people: Floats
    """Positions of M people, m, [T, M, 2]."""
    lights: NDArray[np.int64]
    """States of the lights, [T, lights]."""


def record(rng: np.random.Generator, city: City, precipitation: int) -> Recording:
    """Record the traffic of a newly drawn quarter; equal generators give equal recordings."""
    seconds = _WARM_UP + (PAST + FUTURE) * STEP
    quarter, cast = _peopled(rng, city, precipitation, seconds)
    running = Traffic(rng, ground.prepare(quarter, seconds, traffic.DT), cast, _people(rng, city, quarter, seconds))
    for _ in range(round(_WARM_UP / traffic.DT)):
        running.step()
    moments: list[Moment] = []
    lights: list[NDArray[np.int64]] = []
    for _ in range(PAST + FUTURE):
        moments.append(running.moment())
        lights.append(running.states())
        for _ in range(_TICKS):
            running.step()
    parked = parking.draw(rng, city, quarter, cast.kept_free, PAST + FUTURE)
    return Recording(
        quarter,
        parked.lots,
        _world(running, moments, parked),
        len(running.drivers),
        np.stack([moment.people for moment in moments]),
        np.stack(lights),
    )


def _peopled(rng: np.random.Generator, city: City, precipitation: int, seconds: float) -> tuple[Network, Cast]:
    """Draw quarters until one of them has enough moving cars to observe from."""
    while True:
        quarter = network.draw(rng, city)
        cast = population.draw(rng, city, quarter, precipitation, seconds)
        if len(cast.drivers) >= _FEWEST:
            return quarter, cast


def _people(rng: np.random.Generator, city: City, quarter: Network, seconds: float) -> Walkers:
    street = sum(float((np.hypot(*kerb.T) < _PEOPLE).sum()) for kerb, _ in quarter.kerbs) / 2
    count = int(rng.poisson(street * city.pedestrians / 100))
    jaywalking = city.habits.jaywalking
    return pedestrians.draw(rng, quarter.crossings, quarter.pavements, count, seconds, _PEOPLE, jaywalking)


def _world(running: Traffic, moments: list[Moment], parked: Parked) -> World:
    def joined(name: str, still: Floats) -> Floats:
        return np.concatenate([np.stack([getattr(moment, name) for moment in moments]), still], axis=1)

    who = running.drivers
    moving = np.stack([who.length, who.width, who.height], axis=1)
    still = np.stack([parked.length, parked.width, parked.height], axis=1)
    return World(
        joined("x", parked.x),
        joined("y", parked.y),
        joined("yaw", parked.yaw),
        joined("speed", parked.speed),
        joined("acceleration", parked.acceleration),
        joined("turning", parked.turning),
        joined("there", np.ones(parked.x.shape)).astype(bool),
        np.concatenate([moving, still]),
    )
