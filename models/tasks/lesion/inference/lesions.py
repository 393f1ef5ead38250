"""Lesions of a scan: the ensemble's components, each member's agreement with them, and a table.

All work is done inside the bounding box of the voxels that any member marks, which is a small part of a head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import Components, listed, overlaps
from models.imaging.nifti import Affine

Mask = NDArray[np.bool_]
Box = tuple[slice, slice, slice]


def box_of(marked: Mask) -> Box:
    """Return the smallest box that holds all marked voxels; one voxel if none is marked."""
    if (
        marked.flags.f_contiguous and not marked.flags.c_contiguous
    ):  # about ten times as fast with the slowest axis first
        z, y, x = box_of(marked.T)
        return x, y, z
    side = np.bitwise_or.reduce(marked, axis=0)  # [y, z]
    along = (np.array([plane.any() for plane in marked]), side.any(axis=1), side.any(axis=0))
    x, y, z = (_span(np.flatnonzero(occupied)) for occupied in along)
    return x, y, z


def _span(places: NDArray[np.intp]) -> slice:
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 1)


Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class Lesion:
    """Component of the ensemble's mask: voxels connected by faces."""

    volume_mm3: float
    centroid_mm: tuple[float, float, float]
    """Centroid in the coordinates of the scan's affine, mm."""
    mean_probability: float
    structural_uncertainty: float | None
    """One minus the mean IoU of the members with the lesion, 0 to 1; None for a single model."""
    look_at: bool | None
    """True if the uncertainty exceeds the recipe's limit; None if the recipe gives no advice."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of a member's own mask with the ensemble's."""

    count: int
    """Number of the member's lesions."""
    voxels: int
    dice: float
    overlaps: Float64
    """Largest IoU of each of the ensemble's lesions with one of the member's, 0 to 1, [lesions]."""


@dataclass(frozen=True)
class Lesions:
    """All lesions of a scan, largest first."""

    table: tuple[Lesion, ...]
    voxels: int
    structural: float | None
    """One minus the mean Dice of the members with the ensemble's mask, 0 to 1; None for a single model."""


def marked(values: Float32, threshold: float, small_voxels: int) -> Components:
    """Return the components of more than ``small_voxels`` voxels whose values are at least ``threshold``."""
    return listed(values >= np.float32(threshold), small_voxels)


def agreement(ensemble: Components, member: Components) -> Agreement:
    """Return the agreement of a member with the ensemble; ``uncertainty.voxels`` takes the mean over members."""
    shared = overlaps(ensemble, member)
    voxels = len(ensemble.places) + len(member.places)
    return Agreement(
        count=member.count,
        voxels=len(member.places),
        dice=2 * shared.voxels / voxels if voxels else 1.0,
        overlaps=shared.ours,
    )


def describe(
    ensemble: Components,
    probability: Float32,
    members: Sequence[Agreement],
    *,
    affine: Affine,
    corner: Sequence[int],
    trust: float | None,
) -> Lesions:
    """Describe the ensemble's lesions in a box that begins at the voxel ``corner`` of the grid of ``affine``.

    Lesions with a structural uncertainty (for single models: one minus mean probability) above ``trust`` are marked for
    review.
    """
    voxels, places = ensemble.sizes, ensemble.places
    which = ensemble.numbers - 1

    def means(values: NDArray[Any]) -> Float64:
        return np.asarray(np.bincount(which, weights=values, minlength=len(voxels)) / voxels)

    chances = means(probability.reshape(-1)[places])
    axes = np.unravel_index(places, ensemble.shape)
    index = np.array([means(axis) + first for axis, first in zip(axes, corner, strict=True)])
    centroids = (affine[:3, :3] @ index).T + affine[:3, 3]
    structural = 1 - np.mean([member.overlaps for member in members], axis=0) if len(members) > 1 else None
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
    agreed = float(np.mean([member.dice for member in members])) if len(members) > 1 else None
    return Lesions(table, len(places), None if agreed is None else 1 - agreed)
