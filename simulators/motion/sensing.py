"""What a car that measures makes of the traffic around it: range, occlusion, lost steps, noise, ambiguous yaw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion.curves import Floats

RANGE = 115.0
"""Vehicles are tracked up to this distance, m, with some spread."""
PEOPLE_RANGE = 60.0
_SPREAD = 10.0
_TALL = 1.83
"""Sensors on the roof look over lower vehicles, m."""
_BLOCKED = 0.9
"""A line of sight is blocked by a tall vehicle whose middle is nearer to it, m."""
_NEAR = 3.0
"""What is this near to an end of the line does not block it, m."""
_CARELESS = 0.12
"""Share of tracks that are lost now and then."""
_LOST, _RARELY = 0.04, 0.0006
"""Chance of these, and of other tracks, to be lost in a step."""
_FOUND = 0.45
"""Chance to be found again in the next."""
_FLIPPED = 0.12
"""Share of tracks whose yaw points backward; and chance of a standing one to turn in a step."""
_FLICKER = 0.004
_POSITION = 0.07
"""Standard deviations: m, m/s, m/s², rad; each changes slowly from step to step."""
_VELOCITY = 0.12
_ACCELERATION = 0.25
_YAW = 0.015
_MEMORY = 0.8


@dataclass(frozen=True, slots=True)
class World:
    """What was, of N vehicles in T steps, [T, N]."""

    x: Floats
    """m."""
    y: Floats
    yaw: Floats
    """rad."""
    speed: Floats
    """m/s."""
    acceleration: Floats
    """Along the vehicle, m/s²."""
    turning: Floats
    """rad/s."""
    there: NDArray[np.bool_]
    size: Floats
    """Length, width, height, m, [N, 3]."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was measured of N objects in T steps."""

    there: NDArray[np.bool_]
    """[T, N]."""
    position: Floats
    """m, [T, N, 2]."""
    velocity: Floats
    """m/s, [T, N, 2]."""
    acceleration: Floats
    """m/s², [T, N, 2]."""
    yaw: Floats
    """rad, [T, N]."""
    size: Floats
    """m, [N, 3]."""


def vehicles(rng: np.random.Generator, world: World, ego: int) -> Seen:
    """Return the tracks of all vehicles but the ego vehicle (never ``there``)."""
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
    moving = np.minimum(world.speed / 0.5, 1.0)[..., None]  # what stands is told to stand
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
        place: [T, M, 2], m.
        ego: where the ego vehicle is, [T, 2], m.
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
    """Between -pi and pi."""
    return np.asarray((angle + np.pi) % (2 * np.pi) - np.pi)


def _in_range(rng: np.random.Generator, place: Floats, ego: Floats, reach: float) -> NDArray[np.bool_]:
    distance = np.hypot(*np.moveaxis(place - ego[:, None], 2, 0))
    return np.asarray(distance < reach + _SPREAD * np.clip(rng.standard_normal(place.shape[1]), -2, 1.5))


def _hidden(place: Floats, ego: int, there: NDArray[np.bool_], tall: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Behind a tall vehicle, [T, N]."""
    own = place - place[:, ego, None]
    distance = np.hypot(own[..., 0], own[..., 1])
    towards = own / np.maximum(distance, 1e-6)[..., None]
    hidden = np.zeros(distance.shape, bool)
    for one in np.flatnonzero(tall & (np.arange(len(tall)) != ego)):
        x, y = own[:, one, None, 0], own[:, one, None, 1]
        along = towards[..., 0] * x + towards[..., 1] * y
        across = np.abs(towards[..., 0] * y - towards[..., 1] * x)
        between = (along > _NEAR) & (along < distance - _NEAR) & there[:, one, None]
        hidden |= between & (across < _BLOCKED)
    return hidden


def _kept(rng: np.random.Generator, steps: int, count: int) -> NDArray[np.bool_]:
    """Return whether the tracker has not lost an object: a chain of two states, [T, N]."""
    kept = np.ones((steps, count), bool)
    chance = rng.random((steps, count))
    lost = np.where(rng.random(count) < _CARELESS, _LOST, _RARELY)
    for step in range(1, steps):
        kept[step] = np.where(kept[step - 1], chance[step] >= lost, chance[step] < _FOUND)
    return kept


def _slow(rng: np.random.Generator, shape: tuple[int, ...], deviation: float | Floats) -> Floats:
    """Noise that changes slowly along the first axis."""
    noise = rng.standard_normal(shape)
    for step in range(1, len(noise)):
        noise[step] = _MEMORY * noise[step - 1] + np.sqrt(1 - _MEMORY**2) * noise[step]
    return np.asarray(noise * deviation)


def _ambiguous(rng: np.random.Generator, yaw: Floats, speed: Floats) -> Floats:
    """Yaw with half a turn more or less, as trackers have it."""
    steps, count = yaw.shape
    flips = (rng.random((steps, count)) < _FLICKER) & (speed < 0.5)
    flips[0] = rng.random(count) < _FLIPPED
    return wrapped(yaw + np.pi * (np.cumsum(flips, axis=0) % 2))
