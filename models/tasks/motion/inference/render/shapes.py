"""Lines and outlines of a scene in the cells of a map, without those outside it."""

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.render.raster import Cells


def touching(cells: Cells, bounds: NDArray[np.int64], size: int) -> list[tuple[int, Cells]]:
    """Return number and cells of each shape whose bounding box touches a map of ``size`` cells per side.

    Args:
        cells: cells of all shapes, concatenated.
        bounds: start of each shape, and the end of the last.
    """
    starts = bounds[:-1]
    filled = np.flatnonzero(bounds[1:] > starts)
    if not len(filled):
        return []
    lowest = np.minimum.reduceat(cells, starts[filled])
    highest = np.maximum.reduceat(cells, starts[filled])
    near = filled[((highest >= 0) & (lowest < size)).all(axis=1)]
    return [(int(one), cells[bounds[one] : bounds[one + 1]]) for one in near]
