"""Scanner from signal to published image: thick voxels, ringing, noise, bias, skull stripping, 1 mm voxels."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulators.lesion import fields
from simulators.lesion.anatomy import SHAPE, Anatomy
from simulators.lesion.fields import Float

_FINEST = 0.8
"""Width of a point in the sharpest images, after denoising and interpolation, mm."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """Acquired voxels over the grid: for each axis the matrix to them and back; finer voxels count as 1 mm."""

    there: tuple[Float, ...]
    back: tuple[Float, ...]


def lattice(rng: np.random.Generator, voxel: tuple[float, float, float]) -> Lattice:
    """Draw the position of a scan's voxels."""
    phases = rng.uniform(0, 1, 3)
    return Lattice(
        tuple(fields.slices(n, max(e, 1.0), max(e, _FINEST), p) for n, e, p in zip(SHAPE, voxel, phases, strict=True)),
        tuple(fields.between(n, max(e, 1.0), p) for n, e, p in zip(SHAPE, voxel, phases, strict=True)),
    )


def acquire(rng: np.random.Generator, signal: Float, grid: Lattice, noise: float, bias: float) -> Float:
    """Return the scanner's image of a signal [x, y, z] on the grid of 1 mm.

    The noise is Rician; its floor is removed as by denoising (mean of a squared magnitude, Gudbjartsson and Patz 1995).
    Interpolation overshoots at sharp borders, below 0 in fluid.
    """
    field = np.exp(bias * fields.smooth(rng, SHAPE, 45.0))
    seen = fields.along(signal * field, grid.there)
    real = seen + noise * rng.standard_normal(seen.shape, np.float32)
    imaginary = noise * rng.standard_normal(seen.shape, np.float32)
    power = real * real + imaginary * imaginary - 2 * noise**2
    return fields.along(np.sqrt(np.maximum(power, 0)), grid.back)


def blurred(share: Float, grid: Lattice) -> Float:
    """Return a lesion share [x, y, z] at the resolution of the image, as raters see it."""
    return np.clip(fields.along(fields.along(share, grid.there), grid.back), 0, 1)


def brain_mask(rng: np.random.Generator, anatomy: Anatomy) -> NDArray[np.bool_]:
    """Return the mask left by skull stripping: the brain with most of its fluid, with errors at the border."""
    border = 0.5 + rng.normal(0, 0.06) + 0.12 * fields.smooth(rng, SHAPE, 9.0)
    return np.asarray(anatomy.hull > np.clip(border, 0.15, 0.85))


def surroundings(rng: np.random.Generator, anatomy: Anatomy) -> Float:
    """Return the signal outside the brain that a generous mask includes: dark fluid and bone, some bright membranes."""
    patches = np.clip(fields.smooth(rng, SHAPE, 10.0) - 0.8, 0, 1.0)
    outside = np.clip(1.6 - 2.2 * anatomy.hull, 0, 1)
    return np.asarray(outside * patches * math.exp(rng.normal(-0.4, 0.3)))
