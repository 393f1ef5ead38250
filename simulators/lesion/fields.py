"""Smooth random fields, blurs and resampling on a voxel grid, each as one small matrix per axis."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
Shape = tuple[int, int, int]


def smooth(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> Float:
    """Return a Gaussian field of mean 0 and variance 1 in every voxel, correlated over about ``scale`` voxels.

    The field is a sum of uniform cubic B-splines with white-noise coefficients; each row of weights has norm 1.
    """
    noise = rng.standard_normal([_node_count(size, scale) for size in shape], np.float32)
    return along(noise, [_splines(size, scale, unit=True) for size in shape])


def upsample(coarse: Float, shape: Shape, scale: float) -> Float:
    """Interpolate values at nodes ``scale`` voxels apart smoothly to the grid; the first node lies before it."""
    return along(coarse, [_splines(size, scale, unit=False) for size in shape])


def nodes(shape: Shape, scale: float) -> tuple[NDArray[np.float64], ...]:
    """Return the positions of the nodes of ``upsample`` along each axis, in voxels."""
    return tuple(np.asarray(scale * (np.arange(_node_count(size, scale)) - 1.0), np.float64) for size in shape)


def along(volume: Float, matrices: Sequence[Float | None]) -> Float:
    """Apply matrices [new, old] to a volume [x, y, z] along x, y and z; None leaves an axis unchanged."""
    first, second, third = matrices
    if first is not None:
        volume = (first @ volume.reshape(volume.shape[0], -1)).reshape(-1, *volume.shape[1:])
    if second is not None:
        volume = np.matmul(second, volume)
    if third is not None:
        volume = volume @ third.T
    return volume


def gaussian(size: int, sigma: float) -> Float | None:
    """Return the matrix [size, size] of a Gaussian blur of ``sigma`` voxels that keeps constants; None for no blur."""
    if sigma <= 0:
        return None
    apart = np.subtract.outer(np.arange(size), np.arange(size))
    return _normalised(np.exp(-0.5 * (apart / sigma) ** 2))


def blur(volume: Float, sigma: float) -> Float:
    """Blur a volume along all axes with a Gaussian of ``sigma`` voxels."""
    return along(volume, [gaussian(size, sigma) for size in volume.shape])


def slices(size: int, spacing: float, width: float, phase: float) -> Float:
    """Return the matrix [slices, size] of slices ``spacing`` voxels apart, the first ``phase`` voxels into the grid.

    The slice profile is a Gaussian with a full width at half maximum of ``width`` voxels, which approximates
    two-dimensional sequences and the point spread of others.
    """
    centres = np.arange(phase, size - 1 + spacing, spacing)
    sigma = width / math.sqrt(8 * math.log(2))
    return _normalised(np.exp(-0.5 * ((centres[:, None] - np.arange(size)) / sigma) ** 2))


def between(size: int, spacing: float, phase: float) -> Float:
    """Return the matrix [size, slices] that maps slices back to voxels with Catmull-Rom cubics, which may overshoot."""
    count = len(np.arange(phase, size - 1 + spacing, spacing))
    place = (np.arange(size) - phase) / spacing
    apart = np.abs(place[:, None] - np.arange(count))
    near = 1 - 2.5 * apart**2 + 1.5 * apart**3
    far = 2 - 4 * apart + 2.5 * apart**2 - 0.5 * apart**3
    return _normalised(np.where(apart < 1, near, np.where(apart < 2, far, 0.0)))


def _splines(size: int, scale: float, *, unit: bool) -> Float:
    """Return weights [size, nodes] of uniform cubic B-splines; rows have norm 1 (``unit``) or sum 1."""
    apart = np.abs(np.arange(size)[:, None] / scale - (np.arange(_node_count(size, scale)) - 1.0))
    near = 2 / 3 - apart**2 + apart**3 / 2
    far = (2 - apart) ** 3 / 6
    weights = np.where(apart < 1, near, np.where(apart < 2, far, 0.0))
    norm = np.sqrt((weights**2).sum(axis=1)) if unit else weights.sum(axis=1)
    return np.asarray(weights / norm[:, None], np.float32)


def _node_count(size: int, scale: float) -> int:
    return math.ceil((size - 1) / scale) + 3


def _normalised(weights: NDArray[np.float64]) -> Float:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)
