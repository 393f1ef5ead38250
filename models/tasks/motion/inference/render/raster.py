"""Conversion from metres to cells, lines of cells drawn by OpenCV, and the shapes that touch a map."""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.grid import Float32, Grid

Cells = NDArray[np.int32]
"""Cells [..., 2]: column and row, as in OpenCV."""


def to_map(frame: Float32, grid: Grid) -> Float32:
    """Return the transform from the scene to the cells of a map, [2, 3], given that to the agent's frame, [4, 4].

    Computation is elementwise in float32, here and in ``cells``: a product of matrices rounds differently from machine
    to machine.
    """
    transform = frame[:2, [0, 1, 3]] * np.float32(1 / grid.resolution)
    transform[:, 2] += np.float32(grid.size / 2)
    return transform


def cells(points: Float32, transform: Float32) -> Cells:
    """Return the cell of each point, int32 [N, 2]; halves are rounded to even numbers, as released.

    Args:
        points: points in the scene, m, [2, N].
        transform: see ``to_map``.
    """
    rounded = np.empty((points.shape[1], 2), np.int32)
    for axis, (along_x, along_y, shift) in enumerate(transform):
        place = points[0] * along_x
        place += points[1] * along_y
        place += shift
        place -= np.float32(0.5)
        rounded[:, axis] = np.rint(place, out=place)
    return rounded


def trace(image: NDArray[Any], lines: Sequence[Cells], value: float) -> None:
    """Draw open lines, one cell wide."""
    if lines:
        cv2.polylines(image, lines, False, value)


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
    return [(int(number), cells[bounds[number] : bounds[number + 1]]) for number in near]
