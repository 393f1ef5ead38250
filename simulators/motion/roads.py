"""Lanes, kerbs and pavements of the roads between junctions."""

from dataclasses import dataclass

import numpy as np

from simulators.motion import curves
from simulators.motion.curves import Points
from simulators.motion.lanes import Crossing, Draft, Lane
from simulators.motion.streets import Plan, Road

PAVEMENT = 1.6
"""Distance from the kerb to the line on which people walk, m."""


@dataclass(frozen=True, slots=True)
class Built:
    """Road with its lanes, from the middle outwards."""

    road: Road
    centre: Points
    """Centre line between the mouths of the road's junctions."""
    forward: tuple[int, ...]
    backward: tuple[int, ...]


def build(draft: Draft, plan: Plan, trims: dict[tuple[int, int], float]) -> list[Built]:
    """Add the lanes of all roads.

    Args:
        trims: distance of a road's mouth from the node, by road and node, m.
    """
    built = []
    for index, road in enumerate(plan.roads):
        total = float(curves.lengths(road.centre)[-1])
        start, end = trims.get((index, road.first), 0.0), total - trims.get((index, road.last), 0.0)
        centre = curves.part(road.centre, start, end)
        forward = _lanes(draft, index, road, centre, road.forward, road.backward)
        backward = _lanes(draft, index, road, centre[::-1], road.backward, road.forward)
        edges = [curves.parallel(centre, road.half), curves.parallel(centre, -road.half)[::-1]]
        draft.polygons.append(np.concatenate(edges))
        draft.kerbs += [(edge, road.parking) for edge in edges]
        beyond = road.half + PAVEMENT
        draft.pavements += [curves.parallel(centre, beyond), curves.parallel(centre, -beyond)[::-1]]
        built.append(Built(road, centre, forward, backward))
    return built


def wild_crossing(rng: np.random.Generator, draft: Draft, built: list[Built], near: float) -> Crossing | None:
    """Draw an unpainted crossing of a road within ``near`` metres of the middle; None if none is found."""
    for _ in range(10):
        street = built[int(rng.integers(len(built)))]
        place = int(rng.integers(len(street.centre)))
        middle = street.centre[place]
        if not (10 < place < len(street.centre) - 10) or np.hypot(*middle) > near:
            continue
        ahead = street.centre[place + 1] - street.centre[place - 1]
        right = np.array([ahead[1], -ahead[0]]) / np.hypot(*ahead) * (street.road.half + PAVEMENT)
        spans = []
        for number in (*street.forward, *street.backward):
            away = np.hypot(*(draft.lanes[number].points - middle).T)
            along = float(curves.lengths(draft.lanes[number].points)[int(np.argmin(away))])
            spans.append((number, along - 1.0, along + 1.0))
        return Crossing(np.stack([middle - right, middle + right]), np.empty((0, 2)), tuple(spans))
    return None


def _lanes(draft: Draft, index: int, road: Road, centre: Points, count: int, against: int) -> tuple[int, ...]:
    """Add the lanes along one direction of a centre line and return them from the middle outwards."""
    numbers = []
    for place in range(count):
        right = road.carriageway - (count - place - 0.5) * road.width
        points = curves.resampled(curves.parallel(centre, right))
        lane = Lane(points, road.limit, index, road.main, place == count - 1, road.half - right)
        numbers.append(draft.add(lane))
    for number in numbers:
        draft.beside[number] = [other for other in (number - 1, number + 1) if other in numbers]
    assert count + against > 0
    return tuple(numbers)
