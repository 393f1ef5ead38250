"""Measurement of traffic by a car: range, occlusion, lost steps, noise, ambiguous yaw."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.curves import Floats

RANGE = 115.0
"""Distance up to which vehicles are tracked, m, with some spread."""
PEOPLE_RANGE = 60.0
_SPREAD = 10.0
_TALL = 1.83
"""Height of vehicles over which the roof sensors see, m."""
_BLOCKED = 0.9
"""Distance of a tall vehicle's middle from a line of sight within which it blocks the line, m."""
_NEAR = 3.0
"""Distance from either end of the line within which a vehicle does not block it, m."""
_CARELESS = 0.12
"""Share of tracks that are often lost."""
_LOST, _RARELY = 0.04, 0.0006
"""Probabilities of losing such a track, and any other track, in a step."""
_FOUND = 0.45
"""Probability of finding a lost track again in the next step."""
_FLIPPED = 0.12
"""Share of tracks whose yaw points backward; then the probability that a standing vehicle's yaw flips in a step."""
_FLICKER = 0.004
_POSITION = 0.07
"""Standard deviations of errors that change slowly from step to step: m, m/s, m/s², rad."""
_VELOCITY = 0.12
_ACCELERATION = 0.25
_YAW = 0.015
_MEMORY = 0.8


@dataclass(frozen=True, slots=True)
class World:
    """True states of N vehicles in T steps, [T, N]."""

    x: Floats
    """Position along x, m."""
    y: Floats
    yaw: Floats
    """Heading, rad."""
    speed: Floats
    """Speed, m/s."""
    acceleration: Floats
    """Acceleration along the vehicle, m/s²."""
    turning: Floats
    """Yaw rate, rad/s."""
    there: NDArray[np.bool_]
    size: Floats
    """Length, width and height, m, [N, 3]."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Measurements of N objects in T steps."""

    there: NDArray[np.bool_]
    """Mask of the measured steps, [T, N]."""
    position: Floats
    """Position, m, [T, N, 2]."""
    velocity: Floats
    """Velocity, m/s, [T, N, 2]."""
    acceleration: Floats
    """Acceleration, m/s², [T, N, 2]."""
    yaw: Floats
    """Heading, rad, [T, N]."""
    size: Floats
    """Length, width and height, m, [N, 3]."""


def vehicles(rng: np.random.Generator, world: World, ego: int) -> Seen:
    """Return the tracks of all vehicles except the ego vehicle (never ``there``)."""
    steps, count = world.x.shape
    place = np.stack([world.x, world.y], axis=2)
    there = (
        world.there
        & _in_range(rng, place, place[:, ego], RANGE)
        & ~_hidden(place, ego, world.there, world.size[:, 2] > _TALL)
    )
    there &= _kept(rng, steps, count)
    there[:, ego] = False
    heading = np.stack([np.cos(world.yaw), np.sin(world.yaw)], axis=2)
    side = np.stack([-heading[..., 1], heading[..., 0]], axis=2)
    velocity = heading * world.speed[..., None]
    acceleration = heading * world.acceleration[..., None] + side * (world.speed * world.turning)[..., None]
    moving = np.minimum(world.speed / 0.5, 1.0)[..., None]  # standing vehicles are measured as standing
    size = world.size * np.exp(0.04 * rng.standard_normal(world.size.shape))
    return Seen(
        there,
        place + _slow(rng, place.shape, _POSITION * (0.4 + 0.6 * moving)),
        velocity + _slow(rng, place.shape, _VELOCITY * moving),
        acceleration + _slow(rng, place.shape, _ACCELERATION * moving),
        _ambiguous(rng, world.yaw + _slow(rng, world.yaw.shape, _YAW), world.speed),
        size,
    )


def people(rng: np.random.Generator, place: Floats, ego: Floats) -> Seen:
    """Return the tracks of pedestrians.

    Args:
        place: positions, [T, M, 2], m.
        ego: positions of the ego vehicle, [T, 2], m.
    """
    steps, count, _ = place.shape
    there = _in_range(rng, place, ego, PEOPLE_RANGE) & _kept(rng, steps, count)
    velocity = np.gradient(place, 0.2, axis=0) if count else place
    size = np.clip(rng.normal((0.6, 0.6, 1.7), (0.08, 0.08, 0.1), (count, 3)), 0.3, 2.1)
    return Seen(
        there,
        place + _slow(rng, place.shape, _POSITION),
        velocity + _slow(rng, place.shape, _VELOCITY),
        np.zeros_like(place),
        np.zeros((steps, count)),
        size,
    )


def wrapped(angle: Floats) -> Floats:
    """Return angles wrapped to between -pi and pi."""
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


def _in_range(rng: np.random.Generator, place: Floats, ego: Floats, reach: float) -> NDArray[np.bool_]:
    distance = np.hypot(*np.moveaxis(place - ego[:, None], 2, 0))
    return np.asarray(distance < reach + _SPREAD * np.clip(rng.standard_normal(place.shape[1]), -2, 1.5))


def _hidden(place: Floats, ego: int, there: NDArray[np.bool_], tall: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask of vehicles hidden behind a tall vehicle, [T, N]."""
    own = place - place[:, ego, None]
    distance = np.hypot(own[..., 0], own[..., 1])
    towards = own / np.maximum(distance, 1e-6)[..., None]
    hidden = np.zeros(distance.shape, bool)
    for vehicle in np.flatnonzero(tall & (np.arange(len(tall)) != ego)):
        x, y = own[:, vehicle, None, 0], own[:, vehicle, None, 1]
        along = towards[..., 0] * x + towards[..., 1] * y
        across = np.abs(towards[..., 0] * y - towards[..., 1] * x)
        between = (along > _NEAR) & (along < distance - _NEAR) & there[:, vehicle, None]
        hidden |= between & (across < _BLOCKED)
    return hidden


def _kept(rng: np.random.Generator, steps: int, count: int) -> NDArray[np.bool_]:
    """Draw whether the tracker keeps an object, by a chain of two states, [T, N]."""
    kept = np.ones((steps, count), bool)
    chance = rng.random((steps, count))
    lost = np.where(rng.random(count) < _CARELESS, _LOST, _RARELY)
    for step in range(1, steps):
        kept[step] = np.where(kept[step - 1], chance[step] >= lost, chance[step] < _FOUND)
    return kept


def _slow(rng: np.random.Generator, shape: tuple[int, ...], deviation: float | Floats) -> Floats:
    """Draw noise that changes slowly along the first axis."""
    noise = rng.standard_normal(shape)
    for step in range(1, len(noise)):
        noise[step] = _MEMORY * noise[step - 1] + np.sqrt(1 - _MEMORY**2) * noise[step]
    return np.asarray(noise * deviation)


def _ambiguous(rng: np.random.Generator, yaw: Floats, speed: Floats) -> Floats:
    """Return yaw with random half turns, as from trackers."""
    steps, count = yaw.shape
    flips = (rng.random((steps, count)) < _FLICKER) & (speed < 0.5)
    flips[0] = rng.random(count) < _FLIPPED
    return wrapped(yaw + np.pi * (np.cumsum(flips, axis=0) % 2))
