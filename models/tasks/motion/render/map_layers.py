"""Channels of the map: crosswalks, lanes and road polygons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.frame import Float32
from models.tasks.motion.grid import USUAL_LIMIT
from models.tasks.motion.render.areas import fill
from models.tasks.motion.render.raster import Cells, trace
from models.tasks.motion.road_graph import RoadGraph

Numbered = list[tuple[int, Cells]]
"""Shapes that touch the map: which of the scene, and its cells."""


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
    _draw_directions(direction, near)
    trace(occupancy, [line for _, line in near], 1.0)
    trace(priority, [line for lane, line in near if graph.lane_gives_way[lane]], 1.0)
    for value, lines in _by_value(graph.lane_limit, near):
        trace(limit, lines, value / USUAL_LIMIT)


def draw_road(out: Float32, near: Numbered) -> None:
    """Road polygons, into [1, y, x]; what lies in two of them is no road, as released."""
    fill(out[0], [cells for _, cells in near], 1.0)


def _draw_directions(image: Float32, near: Numbered) -> None:
    """Angle of each piece of the lanes in the cells of the map, rad; later pieces are on top."""
    if not near:
        return
    starts = np.concatenate([line[:-1] for _, line in near])
    ends = np.concatenate([line[1:] for _, line in near])
    seen = (np.maximum(starts, ends) >= 0) & (np.minimum(starts, ends) < len(image))
    chosen = seen.all(axis=1)
    starts, ends = starts[chosen], ends[chosen]
    along = ends - starts
    angles = np.arctan2(along[:, 1], along[:, 0])
    for start, end, angle in zip(starts.tolist(), ends.tolist(), angles.tolist(), strict=True):
        cv2.line(image, start, end, angle)


def _by_value(values: NDArray[Any], near: Numbered) -> Iterator[tuple[float, list[Cells]]]:
    """Shapes of equal value, in the order in which the scene has the values first."""
    _, first, group = np.unique(values, return_index=True, return_inverse=True)
    shapes: dict[int, list[Cells]] = {}
    for number, cells in near:
        shapes.setdefault(int(group[number]), []).append(cells)
    for one in sorted(shapes, key=lambda one: first[one]):
        yield float(values[first[one]]), shapes[one]
