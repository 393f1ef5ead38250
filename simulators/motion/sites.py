"""Plans of junctions: with lights, without, or as a roundabout, and the size of their mouths."""

import math
from dataclasses import dataclass

import numpy as np

from simulators.motion import curves
from simulators.motion.city import Layout
from simulators.motion.curves import Points
from simulators.motion.lanes import CROSSWALK, Crossing
from simulators.motion.roads import PAVEMENT, Built
from simulators.motion.streets import Arm, Plan

DEPTH = 5.0
"""Distance between the stop line and the junction proper if there is a crosswalk, m."""
_BARE = 1.0
"""Same distance without a crosswalk, m."""
_FARTHEST = 30.0
"""Largest distance of a mouth from its node, m."""
_APPROACH = 9.0
"""Distance from the ring of a roundabout to the stop line of an arm, m."""
RING_EXIT = 8.0
"""Distance along the ring from the middle of an arm to its exit and to its entry, m."""


@dataclass(frozen=True, slots=True)
class Site:
    """Plan of one junction."""

    node: int
    arms: tuple[Arm, ...]
    """Arms, counter-clockwise."""
    depths: tuple[float, ...]
    """Distance of each arm from the stop line to the junction proper, m; ``DEPTH`` if it has a crosswalk."""
    trims: tuple[float, ...]
    """Distance of each arm from the node to the stop line, m."""
    lights: bool = False
    all_way: bool = False
    """True if vehicles of all arms have to stop."""
    ring: float = 0.0
    """Radius of the roundabout, m; 0 if there is none."""


def plan(rng: np.random.Generator, streets: Plan, node: int, layout: Layout) -> Site:
    """Draw the plan of the junction at a node."""
    arms = tuple(streets.arms(node))
    mains = {streets.roads[arm.road].axis for arm in arms if streets.roads[arm.road].main}
    crossed = len(arms) > 2
    ring = float(rng.uniform(13, 18))
    share = layout.lights if len(mains) == 2 else layout.lights / 3 if mains else layout.lights / 8
    round_about = rng.random() < layout.roundabouts and _fits(arms, ring)
    lights = crossed and not round_about and bool(rng.random() < share)
    all_way = crossed and not round_about and not lights and bool(rng.random() < layout.all_way)
    painted = [crossed and bool(rng.random() < (0.9 if lights else 0.45)) for _ in arms]
    depths = tuple(DEPTH if is_painted else _BARE for is_painted in painted)
    if round_about:
        return Site(node, arms, depths, tuple(ring + _APPROACH for _ in arms), ring=ring)
    trims = tuple(
        min(_reach(streets, arms, index, layout.corner) + depth, _FARTHEST, 0.42 * _length(arm))
        for index, (arm, depth) in enumerate(zip(arms, depths, strict=True))
    )
    return Site(node, arms, depths, trims, lights, all_way)


def bearing(arm: Arm, distance: float = 12.0) -> float:
    """Return the bearing of an arm's middle at a distance from its node, rad."""
    ahead = arm.curve[min(round(distance), len(arm.curve) - 1)] - arm.curve[0]
    return math.atan2(ahead[1], ahead[0])


def lanes_of(arm: Arm, roads: list[Built]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the lanes into the node and out of it, from the middle outwards."""
    built = roads[arm.road]
    return (built.backward, built.forward) if arm.outward else (built.forward, built.backward)


def way_across(before: Points, after: Points, depth: float, other_depth: float) -> Points:
    """Return the line from the end of a lane to the start of another: straight past crosswalks, then a turn."""
    heading, leaving = before[-1] - before[-2], after[1] - after[0]
    heading, leaving = heading / np.hypot(*heading), leaving / np.hypot(*leaving)
    start, end = before[-1] + depth * heading, after[0] - other_depth * leaving
    middle = curves.turn(start, heading, end, leaving)
    return curves.resampled(np.concatenate([before[-1:], middle, after[:1]]))


def mouth(site: Site, index: int) -> tuple[Points, Points, Points]:
    """Return the point at which the junction proper ends on an arm, its stop line, and the unit direction outwards."""
    trim = site.trims[index]
    near, far = curves.at(site.arms[index].curve, np.array([trim - site.depths[index], trim]))
    return near, far, (far - near) / np.hypot(*(far - near))


def crosswalk(site: Site, index: int, streets: Plan, spans: list[tuple[int, float, float]], signal: int) -> Crossing:
    """Return the crosswalk over an arm; ``spans`` are the ways that it crosses."""
    half, trim = streets.roads[site.arms[index].road].half, site.trims[index]
    near, far = curves.at(site.arms[index].curve, np.array([trim - CROSSWALK[1], trim - CROSSWALK[0]]))
    along = (far - near) / np.hypot(*(far - near))
    right = np.array([along[1], -along[0]])
    middle = (near + far) / 2
    line = np.stack([middle - (half + PAVEMENT) * right, middle + (half + PAVEMENT) * right])
    outline = np.stack([near - half * right, near + half * right, far + half * right, far - half * right])
    return Crossing(line, outline, tuple(spans), signal)


def _length(arm: Arm) -> float:
    return float(curves.lengths(arm.curve)[-1])


def _reach(streets: Plan, arms: tuple[Arm, ...], index: int, corner: float) -> float:
    """Return the distance from the node at which an arm's kerbs run parallel, m, past both neighbours' corners."""
    half = streets.roads[arms[index].road].half
    here = bearing(arms[index])
    reach = 4.0
    for neighbour in (index - 1, (index + 1) % len(arms)):
        other = arms[neighbour]
        if other is arms[index]:
            continue
        angle = abs((bearing(other) - here + math.pi) % (2 * math.pi) - math.pi)
        if 0.3 < angle < 0.97 * math.pi:
            meet = (streets.roads[other.road].half + half * math.cos(angle)) / math.sin(angle)
            reach = max(reach, meet + corner / math.tan(angle / 2))
    return reach


def _fits(arms: tuple[Arm, ...], ring: float) -> bool:
    """Return whether arms are long enough, and far enough apart, for a ring between them."""
    if len(arms) < 3 or min(_length(arm) for arm in arms) < 2.6 * (ring + _APPROACH):
        return False
    bearings = np.sort([bearing(arm, ring) for arm in arms])
    between = np.diff(np.append(bearings, bearings[0] + 2 * math.pi))
    return bool(between.min() * ring > 2 * RING_EXIT + 2)
