"""Map of a scene as arrays: lanes, crosswalks and road polygons, with their present availability by lights."""

from collections.abc import Sequence, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import FARTHEST
from models.tasks.motion.inference.lights import crosswalk_availability, lane_availability, lit_now
from models.tasks.motion.inference.scene_message import impossible, too_many
from models.tasks.motion.protocol.motion_pb2 import PathGraph, TrafficLightSection, Vector3

Float64 = NDArray[np.float64]

MOST_POINTS = 100_000
"""Limit of points of all lines and outlines of a scene."""
MOST_LINES = 10_000
"""Limit of lanes, of crosswalks, and of road polygons of a scene."""
MOST_SECTIONS = 10_000
"""Limit of traffic light sections in the last step."""
_FASTEST = 1000.0  # m/s


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines or outlines, concatenated."""

    points: Float64
    """Points [points, 2], m, in the frame of the scene."""
    bounds: NDArray[np.int64]
    """First point of each line, and the end of the last, [lines + 1]."""

    def __len__(self) -> int:
        return len(self.bounds) - 1


@dataclass(frozen=True, eq=False)
class RoadGraph:
    """Rendered parts of a map; availabilities are values of ``lights``."""

    lanes: Lines
    lane_availability: Float64
    """Availabilities of lanes, [lanes]."""
    lane_gives_way: NDArray[np.bool_]
    """Mask of lanes that give way, [lanes]."""
    lane_limit: Float64
    """Speed limits, [lanes], m/s."""
    crosswalks: Lines
    crosswalk_availability: Float64
    """Availabilities of crosswalks, [crosswalks]."""
    road_polygons: Lines


def road_graph(graph: PathGraph, sections: Sequence[TrafficLightSection]) -> RoadGraph:
    """Return the arrays of a map under the present lights.

    Raises:
        BadScene: there are too many parts, or a coordinate or speed limit is impossible.
    """
    for name, parts in (
        ("lanes", graph.lanes),
        ("crosswalks", graph.crosswalks),
        ("road_polygons", graph.road_polygons),
    ):
        _check_count(parts, MOST_LINES, f"path_graph.{name}", name)
    _check_count(sections, MOST_SECTIONS, "traffic_lights[-1].sections", "sections")
    lit = lit_now(sections)
    states, lit_set = dict(lit), frozenset(lit)
    outlines = [[part.geometry.points for part in parts] for parts in (graph.crosswalks, graph.road_polygons)]
    centres = [lane.centers for lane in graph.lanes]
    points = sum(len(line) for lines in (centres, *outlines) for line in lines)
    _check_count(range(points), MOST_POINTS, "path_graph", "points")
    limits = np.array([lane.max_velocity for lane in graph.lanes], np.float64)
    for lane in np.flatnonzero(~((limits >= 0) & (limits <= _FASTEST)))[:1]:
        raise impossible(f"path_graph.lanes[{lane}].max_velocity", limits[lane], "m/s", f"0 to {_FASTEST:g} m/s")
    return RoadGraph(
        lanes=_lines(centres, "path_graph.lanes[{}].centers[{}]"),
        lane_availability=np.array([lane_availability(lane.traffic_light_section_ids, states) for lane in graph.lanes]),
        lane_gives_way=np.array([lane.gives_way_to_some_lane for lane in graph.lanes], np.bool_),
        lane_limit=limits,
        crosswalks=_lines(outlines[0], "path_graph.crosswalks[{}].geometry.points[{}]"),
        crosswalk_availability=np.array([crosswalk_availability(crosswalk, lit_set) for crosswalk in graph.crosswalks]),
        road_polygons=_lines(outlines[1], "path_graph.road_polygons[{}].geometry.points[{}]"),
    )


def _lines(lines: Sequence[Sequence[Vector3]], name: str) -> Lines:
    flat = [coordinate for line in lines for point in line for coordinate in (point.x, point.y)]
    points = np.array(flat, np.float64).reshape(-1, 2)
    bounds = np.cumsum([0, *(len(line) for line in lines)])
    for at, axis in np.argwhere(~(np.abs(points) < FARTHEST))[:1]:
        line = int(np.searchsorted(bounds, at, side="right")) - 1
        field = f"{name.format(line, at - bounds[line])}.{'xy'[axis]}"
        raise impossible(field, points[at, axis], "m", f"-{FARTHEST:g} to {FARTHEST:g} m")
    return Lines(points, bounds)


def _check_count(parts: Sized, most: int, field: str, unit: str) -> None:
    if len(parts) > most:
        raise too_many(field, len(parts), unit, most)
