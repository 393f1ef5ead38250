"""Reordering of voxels: axes are swapped or reversed, and positions in the world stay the same."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.imaging.nifti_header import Affine

Array = NDArray[Any]

_APART = 0.25
"""Largest distance of corners in voxels, because headers are rounded."""


def reoriented(volume: Array, affine: Affine, shape: Sequence[int], grid_affine: Affine) -> Array | None:
    """Return a view of a volume [x, y, z] in the order of a grid; None if its voxels are different ones.

    Args:
        affine: voxel index of the volume to world, mm, [4, 4].
        grid_affine: affine of the grid, likewise.
    """
    try:
        steps = np.linalg.solve(grid_affine, affine)  # index of the volume to index of the grid
    except np.linalg.LinAlgError:
        return None
    axes = np.abs(steps[:3, :3]).argmax(axis=0)  # of the grid, along each of the volume's
    if sorted(axes.tolist()) != [0, 1, 2]:
        return None
    flips = steps[axes, range(3)] < 0
    turned = volume[tuple(slice(None, None, -1 if flip else 1) for flip in flips)].transpose(np.argsort(axes))
    if turned.shape != tuple(shape):
        return None
    last = np.array(volume.shape) - 1
    corners = np.array([*itertools.product(*((0, end) for end in last.tolist()))])
    expected = np.where(flips, last - corners, corners)
    mapped = (corners @ steps[:3, :3].T + steps[:3, 3])[:, axes]
    return turned if bool((np.abs(mapped - expected) <= _APART).all()) else None
