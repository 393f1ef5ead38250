"""Reading and validation of a scan's volumes: masks, probabilities and uncertainties."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.segmentation import drop_small_components
from models.evaluation.files import need
from models.evaluation.unit_errors import BadFile, Mask
from models.imaging.orientation import reoriented
from models.tasks.lesion.data import metaimage

THRESHOLD = 0.35
"""Least probability of a lesion voxel, as released."""
_PROBABILITY_SLACK = 1e-3  # means of members may exceed 1 by rounding
_SIZE_TOLERANCE = 0.01  # mm
_AFFINE_TOLERANCE = 0.01  # mm


@dataclass(frozen=True)
class Volume:
    """Voxels of a NIfTI or MetaImage file, with their coordinate system."""

    path: Path
    values: NDArray[Any]
    """Voxels [x, y, z]."""
    affine: NDArray[np.float64]
    voxel: tuple[float, ...]
    """Edges of a voxel, mm."""

    @property
    def is_isotropic(self) -> bool:
        """True if voxels are cubes of 1 mm, to 1 %: the metrics count voxels."""
        return all(abs(size - 1) <= _SIZE_TOLERANCE for size in self.voxel)

    def lies_as(self, other: Volume) -> bool:
        """Return whether both affines agree."""
        return np.allclose(self.affine, other.affine, atol=_AFFINE_TOLERANCE)


def read(path: Path, truth: Volume | None = None) -> Volume:
    """Return a volume; with a ground truth, on its grid.

    Voxels in another order of axes than the ground truth's are reordered. If the affines still differ, voxels are
    compared by index, as in the official code.

    Raises:
        BadFile: the file is not a NIfTI or MetaImage file, is truncated, empty or not numeric, does not have three axes
            (beside axes of length 1), or has another shape than the ground truth.
    """
    volume = _read(path)
    if truth is None:
        return volume
    if not volume.lies_as(truth):
        turned = reoriented(volume.values, volume.affine, truth.values.shape, truth.affine)
        if turned is not None:
            volume = replace(volume, values=turned, affine=truth.affine)
    if volume.values.shape != truth.values.shape:
        here, there = list(volume.values.shape), list(truth.values.shape)
        raise BadFile(f"{path} has the shape {here}, and the ground truth {truth.path} {there}")
    return volume


def _read(path: Path) -> Volume:
    if path.suffix == metaimage.SUFFIX:
        image = metaimage.read(path)
        return Volume(path, image.values, image.affine, image.spacing)
    nibabel = need("nibabel", "reading NIfTI")
    expected = (OSError, EOFError, ValueError, TypeError, ArithmeticError, MemoryError, zlib.error)
    try:
        image = nibabel.load(path)
        values = np.asanyarray(image.dataobj)
        affine, zooms = np.asarray(image.affine, np.float64), image.header.get_zooms()
    except (*expected, nibabel.filebasedimages.ImageFileError, nibabel.spatialimages.HeaderDataError) as error:
        raise BadFile(f"{path} cannot be read as NIfTI: {error}") from error
    except AttributeError as error:
        raise BadFile(f"{path} is no image of voxels") from error
    while values.ndim > 3 and values.shape[-1] == 1:
        values = values[..., 0]
    if values.ndim != 3 or not values.size:
        raise BadFile(f"{path} has the shape {list(values.shape)}; a volume [x, y, z] is needed")
    if values.dtype.kind not in "fiub":
        raise BadFile(f"{path} has voxels of type {values.dtype}; numbers are needed")
    return Volume(path, values, affine, tuple(float(size) for size in zooms[:3]))


def mask(path: Path, truth: Volume | None = None) -> tuple[Volume, Mask]:
    """Return a volume of 0 and 1, and the mask of its voxels with the value 1.

    Raises:
        BadFile: see ``read``; or a voxel has another value.
    """
    volume = read(path, truth)
    marked = volume.values == 1
    if not (known := marked | (volume.values == 0)).all():
        raise BadFile(f"{path} holds {volume.values[~known][0]}; a mask is 0 or 1")
    return volume, marked


def segmentation(path: Path, truth: Volume | None = None) -> tuple[Volume, Mask]:
    """Return the lesion voxels of a probability map, post-processed as released: thresholded, without small components.

    Raises:
        BadFile: see ``read``; or a value is not a probability.
    """
    volume = read(path, truth)
    values = volume.values
    if not ((values >= 0) & (values <= 1 + _PROBABILITY_SLACK)).all():
        wrong = values[~((values >= 0) & (values <= 1 + _PROBABILITY_SLACK))][0]
        raise BadFile(f"{path} holds {wrong}; probabilities lie between 0 and 1")
    return volume, drop_small_components(values >= THRESHOLD)
