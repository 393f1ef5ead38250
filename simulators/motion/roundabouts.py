"""Roundabouts: a ring of one lane, counter-clockwise, with an entry and an exit at each arm.

Each arm's piece of the ring is a small junction of its own, at which cars on the ring go first.
"""

import math
from collections.abc import Iterator

import numpy as np

from simulators.motion import curves, sites
from simulators.motion.curves import Points
from simulators.motion.lanes import CROSSWALK, NONE, Draft, Lane
from simulators.motion.roads import Built
from simulators.motion.sites import DEPTH, RING_EXIT, Site
from simulators.motion.streets import Plan

_WIDTH = 5.4
"""Width of the ring's lane, m."""
_LIMIT = 30 / 3.6
"""Speed limit, m/s."""
_ENTRY, _RING = 1, 3
"""Ranks of ways into the ring and of ways on it."""
_PIECES = 16
"""Upper bound of the number of arms of a roundabout, used to number its small junctions."""


def build(draft: Draft, site: Site, streets: Plan, roads: list[Built]) -> None:
    """Add a roundabout whose roads are built."""
    centre, ring, apart = streets.places[site.node], site.ring, RING_EXIT / site.ring
    bearings = sorted((sites.bearing(arm, ring), index) for index, arm in enumerate(site.arms))
    following = [*(bearing for bearing, _ in bearings[1:]), bearings[0][0] + 2 * math.pi]
    pieces = [  # parts of the ring between arms: from one arm's entry to the exit of the next
        draft.add(Lane(_arc(centre, ring, bearing + apart, after - apart), _LIMIT))
        for (bearing, _), after in zip(bearings, following, strict=True)
    ]
    for place, (bearing, index) in enumerate(bearings):
        before, after, depth = pieces[place - 1], pieces[place], site.depths[index]
        junction = -(site.node * _PIECES + place) - 2  # differs from the nodes' own numbers, and from NONE
        into, out = sites.lanes_of(site.arms[index], roads)
        spans: list[tuple[int, float, float]] = []

        def way(points: Points, first: int, last: int, rank: int, junction: int = junction) -> tuple[int, float]:
            lane = Lane(points, _LIMIT, junction=junction, rank=rank, gives_way=rank == _ENTRY)
            number = draft.add(lane)
            draft.follow(first, number)
            draft.follow(number, last)
            return number, lane.length

        way(_arc(centre, ring, bearing - apart, bearing + apart), before, after, _RING)
        for lane in into:
            points = sites.way_across(draft.lanes[lane].points, draft.lanes[after].points, depth, 0.0)
            number, _ = way(points, lane, after, _ENTRY)
            spans.append((number, *CROSSWALK))
        if out:
            points = sites.way_across(draft.lanes[before].points, draft.lanes[out[-1]].points, 0.0, depth)
            number, length = way(points, before, out[-1], _RING)
            spans.append((number, length - CROSSWALK[1], length - CROSSWALK[0]))
        if depth == DEPTH:
            draft.crossings.append(sites.crosswalk(site, index, streets, spans, NONE))
        draft.polygons.append(_mouth(site, streets, index, centre, bearing))
    draft.polygons += list(_halves(centre, ring))


def _arc(centre: Points, ring: float, start: float, end: float) -> Points:
    angles = np.linspace(start, end, max(3, math.ceil((end - start) * ring) + 1))
    return np.asarray(centre + ring * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def _mouth(site: Site, streets: Plan, index: int, centre: Points, bearing: float) -> Points:
    """Return the area from an arm's mouth to the ring, wide enough for entry and exit."""
    half = streets.roads[site.arms[index].road].half
    near, far, out = sites.mouth(site, index)
    right = np.array([out[1], -out[0]])
    wide = (RING_EXIT + 3.0) / site.ring
    ends = _arc(centre, site.ring, bearing - wide, bearing + wide)
    against = [np.array([math.sin(angle), -math.cos(angle)]) for angle in (bearing - wide, bearing + wide)]
    first = curves.turn(near + half * right, -out, ends[0], against[0])
    last = curves.turn(ends[-1], against[1], near - half * right, out)
    return np.concatenate([[far + half * right], first, ends, last, [far - half * right]])


def _halves(centre: Points, ring: float) -> Iterator[Points]:
    """Yield the ring's area in two parts, because an outline has no hole."""
    for start in (0.0, math.pi):
        outer = _arc(centre, ring + _WIDTH / 2, start, start + math.pi)
        inner = _arc(centre, ring - _WIDTH / 2, start, start + math.pi)
        yield np.concatenate([outer, inner[::-1]])
