"""Lines and outlines of a scene in the cells of one map, without those that lie outside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.render.raster import Cells


def touching(cells: Cells, bounds: NDArray[np.int64], size: int) -> list[tuple[int, Cells]]:
    """Number and cells of each shape whose bounding box touches a map of ``size`` cells a side.

    Args:
        cells: of all shapes, one after another.
        bounds: first of each shape, and the end of the last.
    """
    starts = bounds[:-1]
    filled = np.flatnonzero(bounds[1:] > starts)
    if not len(filled):
        return []
    lowest = np.minimum.reduceat(cells, starts[filled])
    highest = np.maximum.reduceat(cells, starts[filled])
    near = filled[((highest >= 0) & (lowest < size)).all(axis=1)]
    return [(int(one), cells[bounds[one] : bounds[one + 1]]) for one in near]
