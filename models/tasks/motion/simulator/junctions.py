"""Where streets meet: how far apart their mouths are, ways across, crosswalks, the area of the junction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from models.tasks.motion.simulator import curves
from models.tasks.motion.simulator.cities import Layout
from models.tasks.motion.simulator.curves import Points
from models.tasks.motion.simulator.lanes import NONE, Crossing, Draft, Lane
from models.tasks.motion.simulator.lights import Programme
from models.tasks.motion.simulator.roads import PAVEMENT, Built
from models.tasks.motion.simulator.streets import Arm, Plan

LEFT, STRAIGHT, RIGHT = range(3)
TURNING_LIMIT = 30 / 3.6
"""Speed limit of ways that turn, m/s."""
_DEPTH = 5.0
"""Between the stop line and the junction proper where there is a crosswalk, m."""
_CROSSWALK = (0.8, 4.3)
"""From the stop line to the crosswalk's edges, m."""
_BARE = 1.0
"""As ``_DEPTH`` without a crosswalk, m."""
_FARTHEST = 30.0
"""No mouth is farther from its node, m."""


@dataclass(frozen=True, slots=True)
class Site:
    """A junction to be built."""

    node: int
    arms: tuple[Arm, ...]
    """Counter-clockwise."""
    depths: tuple[float, ...]
    """Of each arm, from the stop line to the junction proper, m; ``_DEPTH`` is one with a crosswalk."""
    trims: tuple[float, ...]
    """Of each arm, from the node to the stop line, m."""
    lights: bool
    all_way: bool


def plan(rng: np.random.Generator, streets: Plan, node: int, layout: Layout) -> Site:
    """What is to be at a node."""
    arms = tuple(streets.arms(node))
    mains = {streets.roads[arm.road].axis for arm in arms if streets.roads[arm.road].main}
    crossed = len(arms) > 2
    share = layout.lights if len(mains) == 2 else layout.lights / 3 if mains else layout.lights / 8
    lights = crossed and bool(rng.random() < share)
    all_way = crossed and not lights and bool(rng.random() < layout.all_way)
    painted = [crossed and bool(rng.random() < (0.9 if lights else 0.45)) for _ in arms]
    depths = tuple(_DEPTH if one else _BARE for one in painted)
    trims = tuple(
        min(_reach(streets, arms, index, layout.corner) + depth, _FARTHEST, 0.42 * _length(streets, arm))
        for index, (arm, depth) in enumerate(zip(arms, depths, strict=True))
    )
    return Site(node, arms, depths, trims, lights, all_way)


def build(
    rng: np.random.Generator, draft: Draft, site: Site, streets: Plan, roads: list[Built], lights: list[Programme]
) -> None:
    """Adds a junction whose roads are built."""
    programme = Programme.draw(rng, first=len(lights)) if site.lights else None
    if programme is not None:
        lights.append(programme)
    priority = _priority(rng, site, streets)
    inner: list[tuple[Points, Points]] = []  # end of each arm's crosswalk area and direction out of the junction
    for arm, depth, trim in zip(site.arms, site.depths, site.trims, strict=True):
        points = curves.at(arm.curve, np.array([trim - depth, trim]))
        out = points[1] - points[0]
        inner.append((points[0], out / np.hypot(*out)))
    ends: list[list[tuple[int, float, float]]] = [[] for _ in site.arms]
    for a, arm in enumerate(site.arms):
        for b, other in enumerate(site.arms):
            if a == b:
                continue
            for before, after in _pairs(site, a, b, streets, roads):
                rank, movement = _rank(site, a, b, priority, streets)
                way = _way(draft.lanes[before].points, draft.lanes[after].points, site.depths[a], site.depths[b])
                axis = streets.roads[arm.road].axis
                limit = draft.lanes[before].limit
                lane = Lane(
                    way,
                    limit if movement == STRAIGHT else min(limit, TURNING_LIMIT),
                    junction=site.node,
                    rank=rank,
                    gives_way=len(site.arms) > 2 and (rank < 3 if programme is None else movement != STRAIGHT),
                    signal=NONE if programme is None else programme.vehicles(axis),
                    stop=site.all_way,
                    movement=movement,
                )
                number = draft.add(lane)
                draft.follow(before, number)
                draft.follow(number, after)
                ends[a].append((number, _CROSSWALK[0], _CROSSWALK[1]))
                ends[b].append((number, lane.length - _CROSSWALK[1], lane.length - _CROSSWALK[0]))
                assert other is not arm
    for index, arm in enumerate(site.arms):
        if site.depths[index] == _DEPTH:
            axis = streets.roads[arm.road].axis
            signal = NONE if programme is None else programme.walkers(axis)
            draft.crossings.append(_crosswalk(arm, site.trims[index], streets, ends[index], signal))
    draft.polygons.append(_area(site, streets, inner))


def _length(streets: Plan, arm: Arm) -> float:
    return float(curves.lengths(arm.curve)[-1])


def _reach(streets: Plan, arms: tuple[Arm, ...], index: int, corner: float) -> float:
    """From the node to where an arm's kerbs run parallel, m: past the corners with both neighbours."""
    half = streets.roads[arms[index].road].half
    here = _bearing(arms[index])
    reach = 4.0
    for neighbour in (index - 1, (index + 1) % len(arms)):
        other = arms[neighbour]
        if other is arms[index]:
            continue
        angle = abs((_bearing(other) - here + math.pi) % (2 * math.pi) - math.pi)
        if 0.3 < angle < 0.97 * math.pi:
            meet = (streets.roads[other.road].half + half * math.cos(angle)) / math.sin(angle)
            reach = max(reach, meet + corner / math.tan(angle / 2))
    return reach


def _bearing(arm: Arm) -> float:
    ahead = arm.curve[min(12, len(arm.curve) - 1)] - arm.curve[0]
    return math.atan2(ahead[1], ahead[0])


def _priority(rng: np.random.Generator, site: Site, streets: Plan) -> int:
    """The axis of the road with priority."""
    classes = {streets.roads[arm.road].axis: streets.roads[arm.road].main for arm in site.arms}
    if len(set(classes.values())) == 2:
        return next(axis for axis, main in classes.items() if main)
    counts = [sum(streets.roads[arm.road].axis == axis for arm in site.arms) for axis in (0, 1)]
    return int(np.argmax(counts)) if counts[0] != counts[1] else int(rng.integers(2))


def _movement(streets: Plan, site: Site, a: int, b: int) -> int:
    """From one arm to another; opposite arms of one street are straight on however it bends."""
    first, last = site.arms[a], site.arms[b]
    if streets.roads[first.road].axis == streets.roads[last.road].axis:
        return STRAIGHT
    turned = (_bearing(last) - _bearing(first)) % (2 * math.pi)  # counter-clockwise from where one came
    return RIGHT if turned < math.pi else LEFT


def _rank(site: Site, a: int, b: int, priority: int, streets: Plan) -> tuple[int, int]:
    movement = _movement(streets, site, a, b)
    if site.all_way:
        return 0, movement
    own = 0 if movement == LEFT else 1
    before = not site.lights and streets.roads[site.arms[a].road].axis == priority
    return own + (2 if before else 0), movement


def _pairs(site: Site, a: int, b: int, streets: Plan, roads: list[Built]) -> list[tuple[int, int]]:
    """Lanes into the junction from one arm, each with the lane out by another."""
    into, out = _lanes(site.arms[a], roads)[0], _lanes(site.arms[b], roads)[1]
    if not into or not out:
        return []
    movement = _movement(streets, site, a, b)
    if movement == LEFT:
        return [(into[0], out[0])]
    if movement == RIGHT:
        return [(into[-1], out[-1])]
    return [(lane, out[min(place, len(out) - 1)]) for place, lane in enumerate(into)]


def _lanes(arm: Arm, roads: list[Built]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Into the node and out of it."""
    built = roads[arm.road]
    return (built.backward, built.forward) if arm.outward else (built.forward, built.backward)


def _way(before: Points, after: Points, depth: float, other_depth: float) -> Points:
    """Straight past the crosswalks, and a turn between."""
    heading = before[-1] - before[-2]
    leaving = after[1] - after[0]
    heading, leaving = heading / np.hypot(*heading), leaving / np.hypot(*leaving)
    start, end = before[-1] + depth * heading, after[0] - other_depth * leaving
    middle = curves.turn(start, heading, end, leaving)
    return curves.resampled(np.concatenate([before[-1:], middle, after[:1]]))


def _crosswalk(arm: Arm, trim: float, streets: Plan, spans: list[tuple[int, float, float]], signal: int) -> Crossing:
    half = streets.roads[arm.road].half
    near, far = curves.at(arm.curve, np.array([trim - _CROSSWALK[1], trim - _CROSSWALK[0]]))
    along = (far - near) / np.hypot(*(far - near))
    across = np.array([along[1], -along[0]])
    middle = (near + far) / 2
    line = np.stack([middle - (half + PAVEMENT) * across, middle + (half + PAVEMENT) * across])
    outline = np.stack([near - half * across, near + half * across, far + half * across, far - half * across])
    return Crossing(line, outline, tuple(spans), signal)


def _area(site: Site, streets: Plan, inner: list[tuple[Points, Points]]) -> Points:
    """The junction's outline, counter-clockwise: the arms' mouths, with rounded corners between them."""
    outline: list[Points] = []
    for index, (arm, trim) in enumerate(zip(site.arms, site.trims, strict=True)):
        half = streets.roads[arm.road].half
        point, out = inner[index]
        mouth = curves.at(arm.curve, np.array([trim]))[0]
        right = np.array([out[1], -out[0]])
        outline += [point + half * right, mouth + half * right, mouth - half * right, point - half * right]
        other, other_out = inner[(index + 1) % len(inner)]
        other_half = streets.roads[site.arms[(index + 1) % len(inner)].road].half
        start = outline[-1]
        end = other + other_half * np.array([other_out[1], -other_out[0]])
        if np.hypot(*(end - start)) > 1.0:
            outline += list(curves.turn(start, -out, end, other_out)[1:-1])
    return np.stack(outline)
