"""Street plan of a quarter: courses and crossings of streets, before they have lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulators.motion.city import Class, Layout
from simulators.motion.curves import Points, lengths, resampled

HALF = 145.0
"""Half the side of the square within which streets meet, m, before bending; beyond it they have no junctions."""
RUNWAY = 160.0
"""Length of streets beyond the square, m; traffic that comes into sight starts there."""
_KERB = 0.5
"""Distance between the outermost lane and a kerb without parking, m."""
PARKING = 2.3
"""Width of a row of parked cars, m."""
KMH = 1 / 3.6
_SHARPEST = 0.5
"""Largest absolute cosine of the angle at which streets meet."""


@dataclass(frozen=True, slots=True)
class Road:
    """Road between two nodes."""

    first: int
    last: int
    centre: Points
    """Middle of the carriageway from the first node to the last, points about 1 m apart."""
    forward: int
    """Number of lanes towards the last node."""
    backward: int
    width: float
    """Width of a lane, m."""
    limit: float
    """Speed limit, m/s."""
    main: bool
    axis: int
    """Axis of the grid: 0 along its rows, 1 along its columns."""
    parking: bool
    """True if cars are parked on both sides."""

    @property
    def carriageway(self) -> float:
        """Half the width of all lanes, m."""
        return (self.forward + self.backward) * self.width / 2

    @property
    def half(self) -> float:
        """Distance from the middle to the kerb, m."""
        return self.carriageway + (PARKING if self.parking else _KERB)


@dataclass(frozen=True, slots=True)
class Arm:
    """Road as seen from one of its nodes."""

    road: int
    outward: bool
    """True if the node is the road's first node."""
    curve: Points
    """Middle of the carriageway, away from the node."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Streets of a quarter whose middle (0, 0) lies on a street."""

    places: Points
    """Positions of nodes, [n, 2]."""
    inside: NDArray[np.bool_]
    """Mask of the nodes with junctions, [n]; at other nodes roads just begin or end."""
    roads: tuple[Road, ...]

    def arms(self, node: int) -> list[Arm]:
        """Return the roads at a node, counter-clockwise."""
        meeting = []
        for index, road in enumerate(self.roads):
            if road.first == node:
                meeting.append(Arm(index, True, road.centre))
            if road.last == node:
                meeting.append(Arm(index, False, road.centre[::-1]))
        return sorted(meeting, key=lambda arm: float(np.arctan2(*(arm.curve[8] - arm.curve[0])[::-1])))


def draw(rng: np.random.Generator, layout: Layout) -> Plan:
    """Draw a quarter of a city: a grid of uneven blocks, bent by a smooth field, with some side streets left out."""
    columns, rows = (_lines(rng, span) for span in layout.block)
    main = [rng.random(len(lines)) < layout.main_share for lines in (rows, columns)]
    along = rng.uniform(-0.5, 0.5) * np.mean(layout.block[0])
    columns, rows = (columns - along, rows) if rng.random() < 0.5 else (columns, rows - along)
    grid = np.stack(np.meshgrid(columns, rows, indexing="ij"), axis=-1)
    bend = _Bending.draw(rng, layout, grid.reshape(-1, 2))
    middle = bend(np.zeros((1, 2)))[0]
    places = bend(grid.reshape(-1, 2)) - middle
    inside = np.asarray((np.abs(grid.reshape(-1, 2)) < HALF).all(axis=1))
    number = np.arange(len(places)).reshape(grid.shape[:2])
    kinds = [[_kind(rng, layout.main if is_main else layout.side, is_main) for is_main in lines] for lines in main]
    roads = []
    for axis in (0, 1):
        pairs = (number[:-1], number[1:]) if axis == 0 else (number[:, :-1], number[:, 1:])
        for (i, j), first in np.ndenumerate(pairs[0]):
            last = pairs[1][i, j]
            if not (inside[first] or inside[last]):
                continue
            corners = grid.reshape(-1, 2)[np.array([first, last])]
            straight = corners[0] + np.linspace(0, 1, 200)[:, None] * (corners[1] - corners[0])
            kind = kinds[axis][j if axis == 0 else i]
            centre = resampled(bend(straight) - middle)
            roads.append(replace(kind, first=int(first), last=int(last), centre=centre, axis=axis))
    roads = _thinned(rng, roads, inside, layout.missing)
    roads = [_run_on(road, inside) for road in _passable(roads, inside)]
    return Plan(places, inside, tuple(roads))


def _lines(rng: np.random.Generator, span: tuple[float, float]) -> NDArray[np.float64]:
    """Draw coordinates of parallel streets, one of them 0, beyond the square on both sides."""
    count = int((HALF + span[1]) / span[0]) + 2
    steps = rng.uniform(*span, 2 * count)
    lines = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(lines - lines[count])


@dataclass(frozen=True, slots=True)
class _Bending:
    """Smooth displacement of the plane: two waves in random directions."""

    waves: Points
    """Wave vectors, rad/m, [2, 2]."""
    phase: NDArray[np.float64]
    """Phases, rad, [2]."""
    shift: Points
    """Largest displacement by each wave, m, [2, 2]."""

    @classmethod
    def draw(cls, rng: np.random.Generator, layout: Layout, nodes: Points) -> _Bending:
        """Draw a bending of the layout's strength, or less if streets would meet at too sharp an angle."""
        heading = rng.uniform(0, 2 * np.pi, 2)
        number = 2 * np.pi / rng.uniform(*layout.wave, 2)
        waves = np.stack([np.cos(heading), np.sin(heading)], axis=1) * number[:, None]
        turned = heading + rng.uniform(0.3, 0.7, 2) * np.pi
        towards = np.stack([np.cos(turned), np.sin(turned)], axis=1)
        amplitude = layout.bend * rng.uniform(0.5, 1.2, 2)
        bending = cls(waves, rng.uniform(0, 2 * np.pi, 2), towards * amplitude[:, None])
        while bending._sharpest(nodes) > _SHARPEST:
            bending = cls(waves, bending.phase, 0.85 * bending.shift)
        return bending

    def __call__(self, points: Points) -> Points:
        return np.asarray(points + np.sin(points @ self.waves.T + self.phase) @ self.shift)

    def _sharpest(self, nodes: Points) -> float:
        """Return the largest absolute cosine of the angles between streets at nodes."""
        rows, columns = (self(nodes + step) - self(nodes - step) for step in np.eye(2))
        cosine = (rows * columns).sum(axis=1) / (np.hypot(*rows.T) * np.hypot(*columns.T))
        return float(np.abs(cosine).max())


def _kind(rng: np.random.Generator, kind: Class, main: bool) -> Road:
    """Draw the attributes that all roads of one line share."""
    lanes = int(rng.choice(kind.lanes))
    one_way = rng.random() < kind.one_way
    ways = ((lanes, 0) if rng.random() < 0.5 else (0, lanes)) if one_way else (lanes, lanes)
    limit = float(rng.choice(kind.limits)) * KMH
    width = float(rng.uniform(*kind.width))
    return Road(-1, -1, np.empty((0, 2)), *ways, width, limit, main, -1, bool(rng.random() < kind.parking))


def _thinned(rng: np.random.Generator, roads: list[Road], inside: NDArray[np.bool_], share: float) -> list[Road]:
    """Return the roads without some side roads; nodes keep three arms or two opposite ones, and a few become bends."""
    kept = list(roads)
    for road in roads:
        if road.main or rng.random() >= share:
            continue
        left = [other for other in kept if other is not road]
        if all(_well_met(rng, left, node) for node in (road.first, road.last) if inside[node]):
            kept = left
    return kept


def _well_met(rng: np.random.Generator, roads: list[Road], node: int) -> bool:
    axes = [road.axis for road in roads if node in (road.first, road.last)]
    return len(axes) >= 3 or (len(axes) == 2 and (axes[0] == axes[1] or rng.random() < 0.3))


def _passable(roads: list[Road], inside: NDArray[np.bool_]) -> list[Road]:
    """Return the roads, two-way wherever a car could otherwise reach a node and not leave it."""
    passable = list(roads)
    changed = True
    while changed:
        changed = False
        for node in np.flatnonzero(inside):
            if _stuck(passable, int(node)):
                for index, road in enumerate(passable):
                    if node in (road.first, road.last) and not (road.forward and road.backward):
                        lanes = max(road.forward, road.backward)
                        passable[index] = replace(road, forward=lanes, backward=lanes)
                        changed = True
    return passable


def _stuck(roads: list[Road], node: int) -> bool:
    here = list(_ways(roads, node))
    return any(
        into and not any(out for other, (_, out) in enumerate(here) if other != index)
        for index, (into, _) in enumerate(here)
    )


def _ways(roads: list[Road], node: int) -> Iterator[tuple[int, int]]:
    """Yield the numbers of lanes into and out of a node for each of its roads."""
    for road in roads:
        if road.first == node:
            yield road.backward, road.forward
        elif road.last == node:
            yield road.forward, road.backward


def _run_on(road: Road, inside: NDArray[np.bool_]) -> Road:
    """Return the road, extended straight at ends that are outside."""
    centre = road.centre
    steps = np.arange(1, RUNWAY)[:, None]
    if not inside[road.last]:
        ahead = centre[-1] - centre[-2]
        centre = np.concatenate([centre, centre[-1] + steps * ahead / np.hypot(*ahead)])
    if not inside[road.first]:
        behind = centre[0] - centre[1]
        centre = np.concatenate([(centre[0] + steps * behind / np.hypot(*behind))[::-1], centre])
    assert lengths(centre)[-1] > 0
    return replace(road, centre=centre)
