"""Average brain from which every patient is deformed: tissue maps of ICBM 152 from the nilearn package.

ICBM 152 nonlinear symmetric 2009a, Copyright (C) 1993-2004 Louis Collins, McConnell Brain Imaging Centre, Montreal
Neurological Institute, McGill University. Permission to use, copy, modify, and distribute it for any purpose and
without fee is granted, provided that this notice appears in all copies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from simulators.lesion.fields import Float

_VENTRICLE_DEPTH = 15
"""Depth below the surface of the brain from which fluid counts as ventricle, voxels."""
_BOTTOM = 6
"""Number of slices at the lower end of the maps, at which the medulla is cut."""


@dataclass(frozen=True, slots=True)
class Template:
    """Maps on one grid of 1 mm, with axes towards right, front and top."""

    grey: Float
    """Share of grey matter, [X, Y, Z]."""
    white: Float
    hull: Float
    """Mask of the brain with its ventricles and the fluid of its furrows, with soft borders."""
    ventricle: Float
    """Distance from the lateral ventricles, mm; negative inside."""
    widening: Float
    """Direction and strength in which ventricles yield to pressure, [3, X, Y, Z]; norm at most 1."""
    infratentorial: Float
    """Map that is 1 in brain stem and cerebellum."""
    centre: NDArray[np.float64]
    """Voxel in the middle of the brain."""


def load() -> Template:
    """Read the maps, which takes about ten seconds.

    Raises:
        ImportError: nilearn is not installed (extra ``train``).
    """
    from nilearn.datasets import load_mni152_gm_template, load_mni152_template, load_mni152_wm_template

    loaders = (load_mni152_gm_template, load_mni152_wm_template, load_mni152_template)
    images = [loader(resolution=1) for loader in loaders]
    grey, white, whole = (np.asarray(image.dataobj, np.float32) for image in images)
    affine = images[0].affine
    load_mni152_template.cache_clear()  # nilearn would keep the maps in memory
    grey, white = grey / grey.max(), white / white.max()
    tissue = ndimage.binary_opening(grey + white > 0.5, iterations=2)
    solid = ndimage.binary_fill_holes(ndimage.binary_closing(np.pad(tissue, 8), iterations=6))[8:-8, 8:-8, 8:-8]
    solid |= tissue
    solid[..., :_BOTTOM] = False
    hull = ndimage.gaussian_filter(solid.astype(np.float32), 1.5)
    where = np.argwhere(solid)
    x, y, z = (_millimetres(affine, axis, grey.shape) for axis in range(3))
    ventricles = _ventricles(solid & (whole > 0), grey + white, x, y, z)
    outside = ndimage.distance_transform_edt(~ventricles)
    inside = ndimage.distance_transform_edt(ventricles)
    widening = np.stack(np.gradient(ndimage.gaussian_filter(ventricles.astype(np.float32), 5.0)))
    widening /= np.sqrt((widening**2).sum(axis=0)).max()
    stem = (np.abs(x) < 16) & (y > -48) & (y < -12) & (z < -10)
    cerebellum = (y < -40) & (z < -24 + 0.25 * (-40 - y))
    return Template(
        grey,
        white,
        hull,
        (outside - inside).astype(np.float32),
        widening,
        (stem | cerebellum).astype(np.float32),
        (where.min(axis=0) + where.max(axis=0)) / 2,
    )


def _ventricles(solid: NDArray[np.bool_], tissue: Float, x: Float, y: Float, z: Float) -> NDArray[np.bool_]:
    """Return the mask of the lateral ventricles: large deep bodies of fluid except the third and fourth ventricle."""
    deep = ndimage.binary_erosion(solid, iterations=_VENTRICLE_DEPTH)
    midline = (np.abs(x) < 3) | ((np.abs(x) < 6) & ((z < 4) | (z > 24) | (y > 30) | (y < -30)))
    fissure = (np.abs(x) > 28) & (y > -12) & (z > -14) | (np.abs(x) > 38) | (y > -8) & (z < -4)
    below = (y < -22) & ((z < -8) & (np.abs(x) < 20) | (z < 16) & (np.abs(x) < 11))
    fluid = deep & (tissue < 0.5) & ~midline & ~fissure & ~below
    labels, count = ndimage.label(fluid)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    sizes[0] = 0
    return np.isin(labels, np.flatnonzero(sizes >= 200))


def _millimetres(affine: NDArray[np.float64], axis: int, shape: tuple[int, ...]) -> Float:
    """Return the template coordinate of every voxel along an axis, shaped for broadcasting."""
    values = affine[axis, axis] * np.arange(shape[axis]) + affine[axis, 3]
    ready = [-1 if other == axis else 1 for other in range(3)]
    return np.asarray(values, np.float32).reshape(ready)
