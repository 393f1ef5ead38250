"""Channels of the map: crosswalks, lanes and road polygons; areas are filled in bounded time, for any outlines.

OpenCV visits all rows from the top of an outline, and in each sorts all edges that cross it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import USUAL_LIMIT, Float32
from models.tasks.motion.inference.render.raster import Cells, trace
from models.tasks.motion.inference.road_graph import RoadGraph
from models.tasks.motion.inference.scene_message import BadScene

MOST_WORK = 10**8
"""Limit of the sum over rows of the squared number of edges: about 0.1 s."""
_ABOVE = 1 << 13
"""Number of rows above the map to which outlines are clipped."""


def fill(image: NDArray[Any], outlines: Sequence[Cells], value: float) -> None:
    """Fill areas together: the overlap of two is outside, as released.

    Raises:
        BadScene: ``too_complex``.
    """
    if not outlines:
        return
    rows = np.concatenate([outline[:, 1] for outline in outlines])
    if rows.min() < -_ABOVE:
        outlines = [piece for outline in outlines if len(piece := _cut(outline))]
    # no row has more edges than there are corners; closing edges are no longer than all others together
    steps = np.abs(np.diff(np.clip(rows, -_ABOVE, len(image)))).sum(dtype=np.int64)
    if 2 * len(rows) * steps > MOST_WORK:
        _check_work(outlines, len(image))
    if outlines:
        cv2.fillPoly(image, outlines, value)


def _cut(outline: Cells) -> Cells:
    """Return the part of an outline that is not too far above the map, closed along the cut."""
    inside = outline[:, 1] >= -_ABOVE
    if inside.all():
        return outline
    following = np.roll(outline, -1, axis=0)
    kept = []
    for here, there, is_in, goes_in in zip(outline, following, inside, np.roll(inside, -1), strict=True):
        if is_in:
            kept.append(here)
        if is_in != goes_in:
            share = (-_ABOVE - float(here[1])) / (float(there[1]) - float(here[1]))
            kept.append(np.array([round(here[0] + share * (float(there[0]) - float(here[0]))), -_ABOVE]))
    return np.array(kept, np.int32).reshape(-1, 2)


def _check_work(outlines: Sequence[Cells], size: int) -> None:
    ends = np.concatenate([np.stack([outline[:, 1], np.roll(outline[:, 1], 1)]) for outline in outlines], axis=1)
    ends = np.clip(ends, -_ABOVE, size) + _ABOVE
    rows = size + _ABOVE + 1
    begin, end = np.bincount(ends.min(axis=0), minlength=rows), np.bincount(ends.max(axis=0), minlength=rows)
    edges = np.cumsum(begin - end).astype(np.float64)
    if edges @ edges > MOST_WORK:
        raise BadScene(
            f"up to {int(edges.max())} edges of road polygons or crosswalks cross one row of the map; that is no "
            "outline of roads: send simpler ones",
            code="too_complex",
            field="path_graph",
            value=int(edges.max()),
            unit="edges",
        )


Numbered = list[tuple[int, Cells]]
"""Shapes that touch the map: number in the scene, and cells."""


@dataclass(frozen=True)
class Groups:
    """Shapes grouped by value to be drawn together, in the order of first occurrence in the scene."""

    values: tuple[float, ...]
    """Value of each group."""
    of: tuple[int, ...]
    """Group of each shape."""

    @classmethod
    def by(cls, values: NDArray[Any]) -> Groups:
        """Return the groups of shapes by the value of each, [shapes]."""
        numbers: dict[float, int] = {}
        of = tuple(numbers.setdefault(value, len(numbers)) for value in values.tolist())
        return cls(tuple(numbers), of)

    def among(self, near: Numbered) -> Iterator[tuple[float, list[Cells]]]:
        """Yield value and shapes of each group; it may have none."""
        shapes: list[list[Cells]] = [[] for _ in self.values]
        for number, cells in near:
            shapes[self.of[number]].append(cells)
        return zip(self.values, shapes, strict=True)


class MapLayers:
    """Renderer of a scene's map; work that does not depend on the agent is done once."""

    def __init__(self, graph: RoadGraph) -> None:
        self._crosswalks = Groups.by(graph.crosswalk_availability)
        self._lanes = Groups.by(graph.lane_availability)
        self._limits = Groups.by(graph.lane_limit)
        self._gives_way: list[bool] = graph.lane_gives_way.tolist()

    def draw_crosswalks(self, out: Float32, near: Numbered) -> None:
        """Draw occupancy and availability into [2, y, x]; the overlap of two crosswalks is in neither, as released."""
        fill(out[0], [cells for _, cells in near], 1.0)
        for value, outlines in self._crosswalks.among(near):
            fill(out[1], outlines, value)

    def draw_lanes(self, out: Float32, near: Numbered) -> None:
        """Draw availability, direction, occupancy, priority (1: gives way) and speed limit into [5, y, x].

        If lanes cross, the direction of the later one is on top; for other values, that of the later group.
        """
        availability, direction, occupancy, priority, limit = out
        for value, lines in self._lanes.among(near):
            trace(availability, lines, value)
        _draw_directions(direction, near)
        trace(occupancy, [line for _, line in near], 1.0)
        trace(priority, [line for lane, line in near if self._gives_way[lane]], 1.0)
        for value, lines in self._limits.among(near):
            trace(limit, lines, value / USUAL_LIMIT)


def draw_road(out: Float32, near: Numbered) -> None:
    """Draw road polygons into [1, y, x]; the overlap of two is not road, as released."""
    fill(out[0], [cells for _, cells in near], 1.0)


def _draw_directions(image: Float32, near: Numbered) -> None:
    """Draw the angle of each piece of lanes in the cells of the map, rad; later pieces are on top."""
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
