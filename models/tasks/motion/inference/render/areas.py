"""Filling of areas by OpenCV in bounded time, for any outlines.

OpenCV visits all rows from the top of an outline, and in each sorts all edges that cross it.
"""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.bad_scene import BadScene
from models.tasks.motion.inference.render.raster import Cells

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
