"""The lesions of a scan: what the ensemble marks, what each member would, and a table of the components.

Everything is looked at inside the box that holds all marked voxels of any member, which is a small part of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import components, sizes
from models.assessment.segmentation import drop_small_components
from models.nifti import Affine
from models.uncertainty.voxels import lesion_structural_uncertainty, scan_structural_uncertainty

Float32 = NDArray[np.float32]
Mask = NDArray[np.bool_]
Box = tuple[slice, slice, slice]


@dataclass(frozen=True)
class Lesion:
    """A component of the ensemble's mask: voxels that share faces."""

    volume_mm3: float
    centroid_mm: tuple[float, float, float]
    """In the world of the scan's affine."""
    mean_probability: float
    structural_uncertainty: float | None
    """One minus the members' mean IoU with it, 0 to 1; None for a single model."""
    look_at: bool | None
    """Whether it is less certain than the recipe trusts; None where the recipe gives no advice."""


@dataclass(frozen=True)
class Load:
    """How much one mask marks."""

    count: int
    voxels: int


@dataclass(frozen=True)
class Lesions:
    """All of a scan, largest first, and how far members agree on them."""

    table: tuple[Lesion, ...]
    load: Load
    structural: float | None
    """One minus the members' mean Dice with the ensemble's mask, 0 to 1; None for a single model."""


def box_of(marked: Mask) -> Box:
    """The smallest box that holds all marked voxels; one voxel where there are none."""
    parts = []
    for axis in range(3):
        along = np.flatnonzero(marked.any(axis=tuple(other for other in range(3) if other != axis)))
        parts.append(slice(int(along[0]), int(along[-1]) + 1) if len(along) else slice(0, 1))
    return parts[0], parts[1], parts[2]


def marked(values: Float32, threshold: float, small_voxels: int) -> Mask:
    """Voxels from a threshold on, in components of more than ``small_voxels``, as released."""
    return drop_small_components(values >= np.float32(threshold), small_voxels)


def load(mask: Mask) -> Load:
    """Components and voxels of a mask."""
    return Load(int(components(mask).max(initial=0)), int(np.count_nonzero(mask)))


def describe(
    mask: Mask,
    probability: Float32,
    members: Sequence[Mask],
    *,
    affine: Affine,
    corner: Sequence[int],
    trust: float | None,
) -> Lesions:
    """The table of the ensemble's mask in a box, with the members' masks in the same box.

    ``affine`` is that of the whole grid, in which the box begins at the voxel ``corner``. Above ``trust`` a lesion's
    structural uncertainty (of single models one minus its mean probability) is worth looking at.
    """
    labels = components(mask)
    voxels = sizes(labels)
    places = np.flatnonzero(labels)
    which = labels.reshape(-1)[places] - 1
    chances = _sums(which, probability.reshape(-1)[places], len(voxels)) / np.maximum(voxels, 1)
    axes = np.unravel_index(places, mask.shape)
    index = [
        _sums(which, axis, len(voxels)) / np.maximum(voxels, 1) + first
        for axis, first in zip(axes, corner, strict=True)
    ]
    centroids = (affine[:3, :3] @ np.array(index)).T + affine[:3, 3]
    structural = lesion_structural_uncertainty(mask, members) if len(members) > 1 else None
    doubt = 1 - chances if structural is None else structural
    one_mm3 = float(abs(np.linalg.det(affine[:3, :3])))
    table = tuple(
        Lesion(
            volume_mm3=float(voxels[number]) * one_mm3,
            centroid_mm=(float(centroids[number, 0]), float(centroids[number, 1]), float(centroids[number, 2])),
            mean_probability=float(chances[number]),
            structural_uncertainty=None if structural is None else float(structural[number]),
            look_at=None if trust is None else bool(doubt[number] > trust),
        )
        for number in np.argsort(-voxels, kind="stable").tolist()
    )
    return Lesions(
        table=table,
        load=Load(len(table), len(places)),
        structural=scan_structural_uncertainty(mask, members) if len(members) > 1 else None,
    )


def _sums(which: NDArray[Any], values: NDArray[Any], count: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(which, weights=values, minlength=count), np.float64)
