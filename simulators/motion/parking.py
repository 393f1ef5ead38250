"""Parked cars along kerbs and on parking lots."""

from dataclasses import dataclass

import numpy as np

from simulators.motion import curves
from simulators.motion.city import City
from simulators.motion.curves import Floats, Points
from simulators.motion.lanes import rectangle
from simulators.motion.network import Network
from simulators.motion.streets import PARKING

_PLACE = 6.2
"""Length of a place along a kerb, m."""
_CLEAR = 6.0
"""Smallest distance of a place from the mouth of a junction, m."""
_BAY = 2.7
"""Width of a place on a lot, m."""
_DEEP = 5.2
"""Length of a place on a lot, m."""
_AISLE = 6.0
"""Distance between the rows of a lot, m."""
_RADIUS = 145.0
"""Distance from the middle within which cars are parked, m."""
_NEXT = 5.6
"""Distance between a place that has to be free and the middle of the next car, m."""
_BACKING = 0.06
"""Share of cars parked nose-in on a lot that back out of it."""
STEP = 0.2
"""Time step of the states, s."""


@dataclass(frozen=True, slots=True)
class Parked:
    """States of P parked cars in T steps, [T, P]; nearly all of them stand."""

    x: Floats
    """Position along x, m."""
    y: Floats
    yaw: Floats
    """Heading, rad."""
    speed: Floats
    """Speed, m/s; negative for cars that back out of a place."""
    turning: Floats
    """Yaw rate, rad/s."""
    acceleration: Floats
    """Acceleration, m/s²."""
    length: Floats
    """Length of the cars, m, [P]."""
    width: Floats
    height: Floats
    lots: tuple[Points, ...]
    """Outlines of the drivable areas of parking lots."""


def draw(rng: np.random.Generator, city: City, network: Network, free: Points, steps: int) -> Parked:
    """Draw cars parked near the middle.

    Args:
        free: points of kerbs that other cars need, [n, 2], m.
    """
    kerbs = [_along(rng, city, kerb) for kerb, parking in network.kerbs if parking]
    lots, areas = _lots(rng, city, network)
    along = np.concatenate([np.empty((0, 3)), *kerbs])
    if len(free):
        along = along[np.hypot(*(along[:, None, :2] - free[None]).T).min(axis=0) > _NEXT]
    poses = np.concatenate([along, np.empty((0, 3)), *lots])
    on_lot = np.arange(len(poses)) >= len(along)
    near = np.hypot(poses[:, 0], poses[:, 1]) < _RADIUS
    poses, on_lot = poses[near], on_lot[near]
    count = len(poses)
    # cars that back out of a lot are parked nose-in
    turned = np.where(rng.random(count) < np.where(on_lot, 0.3, 0.1), np.pi, 0.0)
    leaves = on_lot & (turned == 0) & (rng.random(count) < _BACKING)
    yaw = poses[:, 2] + turned + rng.normal(0, 0.03, count)
    states = [_standing(pose, heading, steps) for pose, heading in zip(poses, yaw, strict=True)]
    for car in np.flatnonzero(leaves):
        states[car] = _backing(rng, poses[car], yaw[car], steps)
    table = np.array(states).reshape(count, steps, 6)
    x, y, heading, speed, turning, acceleration = table.transpose(2, 1, 0)
    return Parked(
        x,
        y,
        heading,
        speed,
        turning,
        acceleration,
        np.clip(rng.normal(4.4, 0.35, count), 3.6, 5.2),
        np.clip(rng.normal(1.83, 0.08, count), 1.6, 2.0),
        rng.uniform(1.4, 1.9, count),
        tuple(areas),
    )


def _standing(place: Floats, yaw: float, steps: int) -> Floats:
    """Return states x, y, yaw, speed, turning and acceleration of a standing car, [steps, 6]."""
    return np.tile([place[0], place[1], yaw, 0.0, 0.0, 0.0], (steps, 1))


def _backing(rng: np.random.Generator, place: Floats, yaw: float, steps: int) -> Floats:
    """Return states as ``_standing`` of a car that backs a few metres out of a place and stops in the aisle."""
    time = STEP * np.arange(steps)
    begin, lasts, way = rng.uniform(-1, 8), rng.uniform(4, 7), rng.uniform(3.5, 4.8)
    share = np.clip((time - begin) / lasts, 0, 1)
    gone = way * (share**3 * (10 - 15 * share + 6 * share**2))
    bend = rng.choice([-1.0, 1.0]) * rng.uniform(0.0, 0.09)  # 1/m
    heading = yaw + bend * np.maximum(gone - 2.0, 0)
    moved = np.diff(gone, prepend=gone[0])
    x = place[0] - np.cumsum(moved * np.cos(heading))
    y = place[1] - np.cumsum(moved * np.sin(heading))
    speed = -np.gradient(gone, STEP)
    turning, acceleration = np.gradient(heading, STEP), np.gradient(speed, STEP)
    return np.stack([x, y, heading, speed, turning, acceleration], axis=1)


def _along(rng: np.random.Generator, city: City, kerb: Points) -> Floats:
    """Draw taken places along a kerb: x, y, yaw, [n, 3]."""
    total = float(curves.lengths(kerb)[-1])
    middles = np.arange(_CLEAR + _PLACE / 2, total - _CLEAR, _PLACE)
    taken = middles[rng.random(len(middles)) < city.parked * rng.uniform(0.5, 1.3)]
    line = curves.parallel(kerb, -PARKING / 2)
    points = curves.at(line, taken + rng.normal(0, 0.25, len(taken)))
    ahead = curves.at(line, taken + 1.0) - curves.at(line, taken - 1.0)
    return np.column_stack([points + rng.normal(0, 0.08, points.shape), np.arctan2(ahead[:, 1], ahead[:, 0])])


def _lots(rng: np.random.Generator, city: City, network: Network) -> tuple[list[Floats], list[Points]]:
    """Draw taken places of lots beside roads, and the areas of the lots."""
    near = [kerb for kerb, _ in network.kerbs if np.hypot(*kerb.T).min() < 0.8 * _RADIUS]
    street = sum(float((np.hypot(*kerb.T) < _RADIUS).sum()) for kerb in near) / 2
    places: list[Floats] = []
    areas: list[Points] = []
    everything = np.concatenate([lane.points for lane in network.lanes])
    for _ in range(rng.poisson(city.layout.lots * street / 100)):
        kerb = near[int(rng.integers(len(near)))]
        total = float(curves.lengths(kerb)[-1])
        bays = int(rng.integers(5, 13))
        size = bays * _BAY
        if total < size + 4:
            continue
        middle = rng.uniform(size / 2 + 2, total - size / 2 - 2)
        before, after = curves.at(kerb, np.array([middle - 1, middle + 1]))
        along = (after - before) / np.hypot(*(after - before))
        away = np.array([along[1], -along[0]])
        depth = _AISLE + 2 * _DEEP
        centre = (before + after) / 2 + away * (4.5 + depth / 2)
        box = rectangle(centre, along, size, depth)
        if _inside(everything, centre, along, size / 2 + 2, depth / 2 + 2) or any(
            np.hypot(*(centre - area.mean(axis=0))) < 34 for area in areas
        ):
            continue
        areas.append(box)
        areas.append(rectangle(centre - away * (depth / 2 + 2.0), along, 6.0, 6.0))
        for side in (-1, 1):
            taken = np.flatnonzero(rng.random(bays) < min(1.0, 2 * city.parked))
            offsets = (taken + 0.5) * _BAY - size / 2
            if side == -1:
                offsets = offsets[np.abs(offsets) > 4.5]  # keep the entrance free
            points = centre + side * away * (depth / 2 - _DEEP / 2) + offsets[:, None] * along
            points = points + rng.normal(0, 0.12, points.shape)
            places.append(np.column_stack([points, np.full(len(points), np.arctan2(side * away[1], side * away[0]))]))
    return places, areas


def _inside(points: Points, centre: Points, along: Points, half: float, deep: float) -> bool:
    away = np.array([along[1], -along[0]])
    moved = points - centre
    return bool(((np.abs(moved @ along) < half) & (np.abs(moved @ away) < deep)).any())
