"""Preparation of a scan for the networks: turned, resampled if needed, z-scored over voxels other than 0."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.imaging.nifti import BadImage, Limits
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data.image import Scan
from models.tasks.lesion.inference.grid import Grid, model_grid

Float32 = NDArray[np.float32]
Mask = NDArray[np.bool_]
_SLAB = 1 << 16  # voxels that are squared at once


@dataclass(frozen=True)
class Prepared:
    """Scan on the networks' grid."""

    image: Float32
    """Image [channels, x, y, z], contiguous."""
    brain: Mask
    """Brain mask [x, y, z]."""
    grid: Grid
    scan: Scan

    @property
    def brain_ml(self) -> float:
        return float(np.count_nonzero(self.brain)) * self.grid.voxel_mm3 / 1000

    @property
    def resampled(self) -> bool:
        """True if the scan was interpolated."""
        return self.grid.step is not None

    def back(self, volume: Float32) -> Float32:
        """Return a map of the networks' grid on the scan's: linear, and exact if the scan was not interpolated."""
        return self.grid.back(volume)


def prepare(scan: Scan, recipe: Recipe, limits: Limits | None = None) -> Prepared:
    """Return a scan as the networks of a recipe take it.

    Raises:
        BadImage: a channel is constant, the resampled image is too large, or the brain is empty.
    """
    grid = model_grid(scan.shape, scan.affine, recipe.orientation, recipe.spacing, limits)
    image = np.empty((len(scan.channels), *grid.shape), np.float32)
    for own, name, values in zip(image, scan.names, scan.channels, strict=True):
        own[...] = grid.resampled(values)
        _standardise(own, name)
    brain = scan.brain
    if grid.step is None:
        brain = np.ascontiguousarray(grid.turned(brain))
    else:
        brain = np.asarray(grid.resampled(brain, smooth=False) >= 0.5)
    if not brain.any():
        raise BadImage("the brain has no voxel of 1 mm; send a whole head", code="empty", value=0).of("flair")
    return Prepared(image, brain, grid, scan)


def _standardise(values: NDArray[Any], name: str) -> None:
    """Standardise voxels other than 0 to mean 0 and standard deviation 1, in place.

    Zeros stay (MONAI, nonzero=True).
    """
    flat = values.reshape(-1)
    nonzero = flat != 0
    tissue = flat[nonzero]
    mean = float(tissue.mean(dtype=np.float64)) if len(tissue) else 0.0
    tissue -= np.float32(mean)
    slabs = (tissue[first : first + _SLAB] for first in range(0, len(tissue), _SLAB))
    total = sum(float(np.square(slab, dtype=np.float64).sum()) for slab in slabs)
    deviation = (total / max(len(tissue), 1)) ** 0.5
    if not np.isfinite(deviation) or deviation <= 1e-6 * abs(mean):
        raise BadImage(
            f"{name} has a standard deviation of {deviation:.3g} at a mean of {mean:.3g}; an image of tissue is needed",
            code="constant",
            value=f"{deviation:.3g}",
            allowed="more than 0",
        ).of(name)
    tissue /= np.float32(deviation)
    flat[nonzero] = tissue
