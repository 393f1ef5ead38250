"""Junctions: ways across from every lane, priorities, lights, crosswalks and area."""

import math

import numpy as np

from simulators.motion import curves, sites
from simulators.motion.curves import Points
from simulators.motion.lanes import CROSSWALK, NONE, Draft, Lane
from simulators.motion.lights import Programme
from simulators.motion.roads import Built
from simulators.motion.sites import DEPTH, Site
from simulators.motion.streets import Plan

LEFT, STRAIGHT, RIGHT = range(3)
TURNING_LIMIT = 30 / 3.6
"""Speed limit of turning ways, m/s."""
_BEFORE = 2
"""Difference in rank between the road with priority and the other."""


def build(
    rng: np.random.Generator, draft: Draft, site: Site, streets: Plan, roads: list[Built], lights: list[Programme]
) -> None:
    """Add a junction whose roads are built, and add its lights to ``lights``."""
    programme = Programme.draw(rng, len(lights)) if site.lights else None
    if programme is not None:
        lights.append(programme)
    priority = _priority(rng, site, streets)
    spans: list[list[tuple[int, float, float]]] = [[] for _ in site.arms]
    for a, arm in enumerate(site.arms):
        axis = streets.roads[arm.road].axis
        signal = NONE if programme is None else programme.vehicles(axis)
        for b in range(len(site.arms)):
            if a == b:
                continue
            movement = _movement(streets, site, a, b)
            rank = _rank(site, movement, first=axis == priority)
            yields = movement != STRAIGHT if site.lights else rank <= _BEFORE
            for before, after in _pairs(site, a, b, movement, roads):
                limit = draft.lanes[before].limit
                lane = Lane(
                    sites.way_across(
                        draft.lanes[before].points, draft.lanes[after].points, site.depths[a], site.depths[b]
                    ),
                    limit if movement == STRAIGHT else min(limit, TURNING_LIMIT),
                    junction=site.node,
                    rank=rank,
                    gives_way=yields and len(site.arms) > 2,
                    signal=signal,
                    stop=site.all_way,
                    movement=movement,
                )
                number = draft.add(lane)
                draft.follow(before, number)
                draft.follow(number, after)
                spans[a].append((number, *CROSSWALK))
                spans[b].append((number, lane.length - CROSSWALK[1], lane.length - CROSSWALK[0]))
    for index, arm in enumerate(site.arms):
        if site.depths[index] == DEPTH:
            signal = NONE if programme is None else programme.walkers(streets.roads[arm.road].axis)
            draft.crossings.append(sites.crosswalk(site, index, streets, spans[index], signal))
    draft.polygons.append(_area(site, streets))


def _priority(rng: np.random.Generator, site: Site, streets: Plan) -> int:
    """Return the axis of the road with priority."""
    classes = {streets.roads[arm.road].axis: streets.roads[arm.road].main for arm in site.arms}
    if len(set(classes.values())) == 2:
        return next(axis for axis, main in classes.items() if main)
    counts = [sum(streets.roads[arm.road].axis == axis for arm in site.arms) for axis in (0, 1)]
    return int(np.argmax(counts)) if counts[0] != counts[1] else int(rng.integers(2))


def _movement(streets: Plan, site: Site, a: int, b: int) -> int:
    """Return the movement from one arm to another; opposite arms of one street are straight on however it bends."""
    first, last = site.arms[a], site.arms[b]
    if streets.roads[first.road].axis == streets.roads[last.road].axis:
        return STRAIGHT
    turned = (sites.bearing(last) - sites.bearing(first)) % (2 * math.pi)  # counter-clockwise from the arm of entry
    return RIGHT if turned < math.pi else LEFT


def _rank(site: Site, movement: int, *, first: bool) -> int:
    """Return the rank: left turns give way to oncoming cars; without lights the street with priority goes ``first``."""
    if site.all_way:
        return 0
    return (0 if movement == LEFT else 1) + (_BEFORE if first and not site.lights else 0)


def _pairs(site: Site, a: int, b: int, movement: int, roads: list[Built]) -> list[tuple[int, int]]:
    """Return pairs of a lane into the junction from one arm and the lane out by another."""
    into, out = sites.lanes_of(site.arms[a], roads)[0], sites.lanes_of(site.arms[b], roads)[1]
    if not into or not out:
        return []
    if movement == LEFT:
        return [(into[0], out[0])]
    if movement == RIGHT:
        return [(into[-1], out[-1])]
    return [(lane, out[min(place, len(out) - 1)]) for place, lane in enumerate(into)]


def _area(site: Site, streets: Plan) -> Points:
    """Return the junction's outline, counter-clockwise: the arms' mouths, with rounded corners between them."""
    mouths = [sites.mouth(site, index) for index in range(len(site.arms))]
    halves = [streets.roads[arm.road].half for arm in site.arms]
    outline: list[Points] = []
    for index, ((near, far, out), half) in enumerate(zip(mouths, halves, strict=True)):
        right = np.array([out[1], -out[0]])
        outline += [near + half * right, far + half * right, far - half * right, near - half * right]
        following = (index + 1) % len(mouths)
        other, _, other_out = mouths[following]
        end = other + halves[following] * np.array([other_out[1], -other_out[0]])
        if np.hypot(*(end - outline[-1])) > 1.0:
            outline += list(curves.turn(outline[-1], -out, end, other_out)[1:-1])
    return np.stack(outline)
