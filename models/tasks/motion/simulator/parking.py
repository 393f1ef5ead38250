"""Cars that stand all the time: along kerbs and on parking lots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.tasks.motion.simulator import curves
from models.tasks.motion.simulator.cities import City
from models.tasks.motion.simulator.curves import Floats, Points
from models.tasks.motion.simulator.lanes import rectangle
from models.tasks.motion.simulator.network import Network
from models.tasks.motion.simulator.streets import PARKING

_PLACE = 6.2
"""Length of a place along a kerb, m."""
_CLEAR = 6.0
"""No place is nearer to the mouth of a junction, m."""
_BAY = 2.7
"""Width of a place on a lot, m."""
_DEEP = 5.2
"""Length of a place on a lot, m."""
_AISLE = 6.0
"""Between the rows of a lot, m."""


@dataclass(frozen=True, slots=True)
class Parked:
    """P cars that stand, [P] each."""

    x: Floats
    """m."""
    y: Floats
    yaw: Floats
    """rad."""
    length: Floats
    """m."""
    width: Floats
    height: Floats
    lots: tuple[Points, ...]
    """Areas where one can drive to lots' places."""


def draw(rng: np.random.Generator, city: City, network: Network, radius: float) -> Parked:
    """Cars parked within ``radius`` metres of the middle."""
    places = [_along(rng, city, kerb) for kerb, parking in network.kerbs if parking]
    lots, areas = _lots(rng, city, network, radius)
    found = np.concatenate([np.empty((0, 3)), *places, *lots])
    found = found[np.hypot(found[:, 0], found[:, 1]) < radius]
    count = len(found)
    turned = np.where(rng.random(count) < 0.15, np.pi, 0.0)
    return Parked(
        found[:, 0],
        found[:, 1],
        found[:, 2] + turned + rng.normal(0, 0.03, count),
        np.clip(rng.normal(4.4, 0.35, count), 3.6, 5.2),
        np.clip(rng.normal(1.83, 0.08, count), 1.6, 2.0),
        rng.uniform(1.4, 1.9, count),
        tuple(areas),
    )


def _along(rng: np.random.Generator, city: City, kerb: Points) -> Floats:
    """Taken places along a kerb: x, y, yaw, [n, 3]."""
    total = float(curves.lengths(kerb)[-1])
    middles = np.arange(_CLEAR + _PLACE / 2, total - _CLEAR, _PLACE)
    taken = middles[rng.random(len(middles)) < city.parked * rng.uniform(0.5, 1.3)]
    line = curves.parallel(kerb, -PARKING / 2)
    points = curves.at(line, taken + rng.normal(0, 0.25, len(taken)))
    ahead = curves.at(line, taken + 1.0) - curves.at(line, taken - 1.0)
    return np.column_stack([points + rng.normal(0, 0.08, points.shape), np.arctan2(ahead[:, 1], ahead[:, 0])])


def _lots(rng: np.random.Generator, city: City, network: Network, radius: float) -> tuple[list[Floats], list[Points]]:
    """Taken places of lots beside roads, and their areas."""
    near = [kerb for kerb, _ in network.kerbs if np.hypot(*kerb.T).min() < radius * 0.8]
    street = sum(float((np.hypot(*kerb.T) < radius).sum()) for kerb in near) / 2
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
            taken = np.flatnonzero(rng.random(bays) < city.parked * 1.2)
            offsets = (taken + 0.5) * _BAY - size / 2
            if side == -1:
                offsets = offsets[np.abs(offsets) > 4.5]  # where one drives in
            points = centre + side * away * (depth / 2 - _DEEP / 2) + offsets[:, None] * along
            points = points + rng.normal(0, 0.12, points.shape)
            places.append(np.column_stack([points, np.full(len(points), np.arctan2(away[1], away[0]))]))
    return places, areas


def _inside(points: Points, centre: Points, along: Points, half: float, deep: float) -> bool:
    away = np.array([along[1], -along[0]])
    moved = points - centre
    return bool(((np.abs(moved @ along) < half) & (np.abs(moved @ away) < deep)).any())
