"""Routes of cars through a network: chains of lanes, the line to drive, its speed profile, and overlaps with others."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion import curves
from simulators.motion.conflicts import JOIN, PART
from simulators.motion.curves import Floats, Points
from simulators.motion.lanes import NONE
from simulators.motion.network import Network

_MOST_LANES = 24
_SLACK = 30.0
"""Length of the line beyond the last point that a car can reach, m."""
_SLOWEST = 1.0
"""Lower bound of the allowed speed along a line, m/s."""


@dataclass(slots=True)
class Routes:
    """Routes of N cars; distances are from the start of each car's route, m."""

    lanes: NDArray[np.intp]
    """Lanes of the route, [N, 24], padded with -1."""
    starts: Floats
    """Start of each lane of the route, [N, 24], padded with infinity."""
    ways: NDArray[np.intp]
    """Number of each lane of the route among the ways across junctions, [N, 24]; -1 for other lanes."""
    start: Floats
    """Start of each lane of the network, [N, lanes]; infinite if it is not on the route."""
    parted: Floats
    """Start, as ``start``, of ways that part from a way on the route: the start of that way."""
    parted_until: Floats
    """Distance along such a way up to which a car's rear is still on the route, [N, lanes]."""
    joined: Floats
    """Start, as ``start``, of ways that join a way on the route, set so that both end at the same place."""
    joined_from: Floats
    """Distance along such a way from which a car's front is on the route, [N, lanes]."""
    points: NDArray[np.float64]
    """Points of the line, [N, P, 2], 1 m apart."""
    aside: Floats
    """Distance of each point to the right of its lane, [N, P], m."""
    allowed: Floats
    """Speed at each point that leaves time to brake for what follows, m/s, [N, P]."""
    length: Floats
    """Length of the route, [N], m."""


@dataclass(frozen=True, slots=True)
class Style:
    """Driving style: speed and braking along a line."""

    eagerness: float
    """Ratio of the wanted speed to the limit."""
    cornering: float
    """Sideways acceleration, m/s²."""
    braking: float
    """Braking, m/s²."""


def empty(count: int, network: Network, reach: float) -> Routes:
    """Return empty routes of at most ``reach`` metres."""
    lanes, points = (count, len(network.lanes)), (count, int(reach) + 2)
    return Routes(
        np.full((count, _MOST_LANES), NONE, np.intp),
        np.full((count, _MOST_LANES), np.inf),
        np.full((count, _MOST_LANES), NONE, np.intp),
        np.full(lanes, np.inf),
        np.full(lanes, np.inf),
        np.full(lanes, -np.inf),
        np.full(lanes, np.inf),
        np.full(lanes, np.inf),
        np.zeros((*points, 2)),
        np.zeros(points),
        np.zeros(points),
        np.zeros(count),
    )


def choose(
    rng: np.random.Generator, network: Network, first: int, distance: float, turns: tuple[float, float, float]
) -> list[int]:
    """Draw a chain of lanes of at least ``distance`` metres, or up to the end of the streets.

    Args:
        turns: weights of going left, straight on and right.
    """
    chain, total = [first], float(network.lengths[first])
    while total < distance and len(chain) < _MOST_LANES:
        following = network.successors[chain[-1]]
        if not following:
            break
        movements = [network.lanes[lane].movement for lane in following]
        weights = np.array([1.0 if movement == NONE else turns[movement] for movement in movements])
        chain.append(following[int(rng.choice(len(following), p=weights / weights.sum()))])
        total += float(network.lengths[chain[-1]])
    return chain


def set_route(
    routes: Routes,
    car: int,
    network: Network,
    chain: list[int],
    begun: float,
    style: Style,
    moved: Callable[[Points, Floats], tuple[Points, Floats]] | None = None,
) -> None:
    """Set a chain of lanes as the route of a car, starting ``begun`` metres along the first lane.

    Args:
        moved: function that turns the middle of the lanes [P, 2] and the distances of its points into the line to
            drive and its distance aside, [P], m.
    """
    for table in (routes.start, routes.parted, routes.joined, routes.joined_from):
        table[car] = np.inf
    routes.parted_until[car] = -np.inf
    starts = np.concatenate([[0.0], np.cumsum(network.lengths[chain])]) - begun
    count = len(chain)
    routes.lanes[car, :count], routes.lanes[car, count:] = chain, NONE
    routes.starts[car, :count], routes.starts[car, count:] = starts[:-1], np.inf
    routes.ways[car, :count], routes.ways[car, count:] = network.conflicts.number[chain], NONE
    routes.start[car, chain[::-1]] = starts[:-1][::-1]  # if a lane comes twice, the first time counts; below, too
    _shadows(routes, car, network, chain, starts)

    size = routes.points.shape[1]
    along = np.arange(size, dtype=np.float64)
    line, limit, total = _middle(network, chain, begun, along)
    if moved is None:
        routes.aside[car] = 0.0
    else:
        line, routes.aside[car] = moved(line, along)
    bend = np.sqrt(style.cornering / np.maximum(curves.curvature(line, 1.0), 1e-4))
    energy = np.minimum(limit * style.eagerness, bend) ** 2 + 2 * style.braking * along
    least = np.minimum.accumulate(energy[::-1])[::-1] - 2 * style.braking * along
    routes.points[car] = line
    routes.allowed[car] = np.sqrt(np.maximum(least, _SLOWEST**2))
    routes.length[car] = min(total, size - _SLACK)


def at(routes: Routes, along: Floats) -> NDArray[np.float64]:
    """Return the points of the lines at one distance each, [N, 2]."""
    low = np.clip(along.astype(np.intp), 0, routes.points.shape[1] - 2)
    rows = np.arange(len(along))
    share = (along - low)[:, None]
    return np.asarray(routes.points[rows, low] * (1 - share) + routes.points[rows, low + 1] * share)


def _shadows(routes: Routes, car: int, network: Network, chain: list[int], starts: Floats) -> None:
    """Set the positions on the route of cars on ways that part from the route's ways or join them."""
    conflicts = network.conflicts
    for lane, start, end in reversed(list(zip(chain, starts[:-1], starts[1:], strict=True))):
        way = conflicts.number[lane]
        if way == NONE:
            continue
        parting = np.flatnonzero(conflicts.kind[way] == PART)
        others = conflicts.ways[parting]
        routes.parted[car, others] = start
        routes.parted_until[car, others] = conflicts.end[parting, way]
        joining = np.flatnonzero(conflicts.kind[way] == JOIN)
        others = conflicts.ways[joining]
        routes.joined[car, others] = end - network.lengths[others]
        routes.joined_from[car, others] = conflicts.start[joining, way]


def _middle(network: Network, chain: list[int], begun: float, along: Floats) -> tuple[Points, Floats, float]:
    """Return the middle of a chain's lanes at distances along it, the limit there, m/s, and the length, m."""
    pieces = [network.lanes[lane].points for lane in chain]
    counts = [len(piece) - 1 for piece in pieces]
    joined = np.concatenate([*(piece[:-1] for piece in pieces), pieces[-1][-1:]])
    known = curves.lengths(joined) - begun
    line = np.stack([np.interp(along, known, joined[:, axis]) for axis in (0, 1)], axis=1)
    ahead = joined[-1] - joined[-2]
    line += np.maximum(along - known[-1], 0)[:, None] * ahead / np.hypot(*ahead)
    limits = np.repeat([network.lanes[lane].limit for lane in chain], counts)
    limit = limits[np.clip(np.searchsorted(known, along, "right") - 1, 0, len(limits) - 1)]
    return line, limit, float(known[-1])
