"""Channels of the map: crosswalks, lanes and road polygons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.frame import Float32
from models.tasks.motion.render.raster import Cells, fill, trace
from models.tasks.motion.road_graph import RoadGraph

Numbered = list[tuple[int, Cells]]
"""Shapes that touch the map: which of the scene, and its cells."""
_USUAL_LIMIT = 15.0
"""m/s, which a speed limit is divided by."""


def draw_crosswalks(out: Float32, graph: RoadGraph, near: Numbered) -> None:
    """Occupancy and availability, into [2, y, x]; what two crosswalks share is in neither, as released."""
    fill(out[0], [cells for _, cells in near], 1.0)
    for value, outlines in _by_value(graph.crosswalk_availability, near):
        fill(out[1], outlines, value)


def draw_lanes(out: Float32, graph: RoadGraph, near: Numbered) -> None:
    """Availability, direction, occupancy, priority (1: gives way) and speed limit, into [5, y, x].

    Where lanes cross, the later group of equal values is on top, in the order in which groups first come in the scene.
    """
    availability, direction, occupancy, priority, limit = out
    for value, lines in _by_value(graph.lane_availability, near):
        trace(availability, lines, value)
    for _, line in near:
        _draw_direction(direction, line)
    trace(occupancy, [line for _, line in near], 1.0)
    trace(priority, [line for lane, line in near if graph.lane_gives_way[lane]], 1.0)
    for value, lines in _by_value(graph.lane_limit, near):
        trace(limit, lines, value / _USUAL_LIMIT)


def draw_road(out: Float32, near: Numbered) -> None:
    """Road polygons, into [1, y, x]; what lies in two of them is no road, as released."""
    fill(out[0], [cells for _, cells in near], 1.0)


def _draw_direction(image: Float32, line: Cells) -> None:
    """Angle of each piece of a lane in the cells of the map, rad."""
    places = line.tolist()
    for (x0, y0), (x1, y1) in pairwise(places):
        cv2.line(image, (x0, y0), (x1, y1), math.atan2(y1 - y0, x1 - x0), 1, cv2.LINE_8)


def _by_value(values: NDArray[Any], near: Numbered) -> Iterator[tuple[float, list[Cells]]]:
    """Shapes of equal value, in the order in which the scene has the values first."""
    _, first, group = np.unique(values, return_index=True, return_inverse=True)
    shapes: dict[int, list[Cells]] = {}
    for number, cells in near:
        shapes.setdefault(int(group[number]), []).append(cells)
    for one in sorted(shapes, key=lambda one: first[one]):
        yield float(values[first[one]]), shapes[one]
