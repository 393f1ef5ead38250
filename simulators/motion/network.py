"""Road network of a quarter: streets with lanes, junctions, lights, crossings and pavements."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.motion import conflicts, junctions, roads, roundabouts, sites, streets
from simulators.motion.city import City
from simulators.motion.conflicts import Conflicts
from simulators.motion.curves import Floats, Points
from simulators.motion.lanes import Crossing, Draft, Lane
from simulators.motion.lights import Programme

_WILD = 6
"""Number of places at which people cross without a crosswalk."""
_WILD_WITHIN = 90.0
"""Largest distance of these places from the middle, m."""


@dataclass(frozen=True, slots=True)
class Network:
    """Immobile parts of a quarter; coordinates around (0, 0), m."""

    lanes: tuple[Lane, ...]
    successors: tuple[tuple[int, ...], ...]
    beside: tuple[tuple[int, ...], ...]
    """Neighbours of each lane in the same direction."""
    lengths: Floats
    """Lengths of lanes, m."""
    signals: NDArray[np.intp]
    """Number of the light of each lane; -1 if there is none."""
    conflicts: Conflicts
    crossings: tuple[Crossing, ...]
    lights: tuple[Programme, ...]
    polygons: tuple[Points, ...]
    """Outlines of drivable areas."""
    pavements: tuple[Points, ...]
    kerbs: tuple[tuple[Points, bool], ...]
    """Kerb lines, and whether parking is allowed along them."""


def draw(rng: np.random.Generator, city: City) -> Network:
    """Draw a quarter of a city."""
    plan = streets.draw(rng, city.layout)
    nodes = [int(node) for node in np.flatnonzero(plan.inside)]
    planned = [sites.plan(rng, plan, node, city.layout) for node in nodes]
    planned = [site for site in planned if site.arms]
    trims = {(arm.road, site.node): trim for site in planned for arm, trim in zip(site.arms, site.trims, strict=True)}
    draft = Draft()
    built = roads.build(draft, plan, trims)
    lights: list[Programme] = []
    for site in planned:
        if site.ring:
            roundabouts.build(draft, site, plan, built)
        else:
            junctions.build(rng, draft, site, plan, built, lights)
    for _ in range(_WILD):
        wild = roads.wild_crossing(rng, draft, built, _WILD_WITHIN)
        if wild is not None:
            draft.crossings.append(wild)
    return Network(
        tuple(draft.lanes),
        tuple(tuple(draft.successors.get(index, ())) for index in range(len(draft.lanes))),
        tuple(tuple(draft.beside.get(index, ())) for index in range(len(draft.lanes))),
        np.array([lane.length for lane in draft.lanes]),
        np.array([lane.signal for lane in draft.lanes], np.intp),
        conflicts.find(draft.lanes, draft.successors),
        tuple(draft.crossings),
        tuple(lights),
        tuple(draft.polygons),
        tuple(draft.pavements),
        tuple(draft.kerbs),
    )
