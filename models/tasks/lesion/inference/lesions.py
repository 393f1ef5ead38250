"""The lesions of a scan: what the ensemble marks, how far each member agrees, and a table of the components.

Everything is looked at inside the box that holds all marked voxels of any member, which is a small part of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import Components, listed, overlaps
from models.imaging.nifti import Affine

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]


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
class Agreement:
    """How a member's own mask agrees with the ensemble's."""

    count: int
    """Lesions of the member."""
    voxels: int
    dice: float
    overlaps: Float64
    """Largest IoU of each of the ensemble's lesions with one of the member's, 0 to 1, [lesions]."""


@dataclass(frozen=True)
class Lesions:
    """All of a scan, largest first."""

    table: tuple[Lesion, ...]
    voxels: int
    structural: float | None
    """One minus the members' mean Dice with the ensemble's mask, 0 to 1; None for a single model."""


def marked(values: Float32, threshold: float, small_voxels: int) -> Components:
    """Return the components of more than ``small_voxels`` of values from a threshold on."""
    return listed(values >= np.float32(threshold), small_voxels)


def agreement(ensemble: Components, member: Components) -> Agreement:
    """What ``uncertainty.voxels`` takes the mean of over members, of one member."""
    found = overlaps(ensemble, member)
    voxels = len(ensemble.places) + len(member.places)
    return Agreement(
        count=member.count,
        voxels=len(member.places),
        dice=2 * found.voxels / voxels if voxels else 1.0,
        overlaps=found.ours,
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
    """The table of the ensemble's lesions in a box that begins at the voxel ``corner`` of the grid of ``affine``.

    Above ``trust`` a lesion's structural uncertainty (of single models one minus its mean probability) is worth
    looking at.
    """
    voxels, places = ensemble.sizes, ensemble.places
    which = ensemble.numbers - 1

    def means(values: NDArray[Any]) -> Float64:
        return np.asarray(np.bincount(which, weights=values, minlength=len(voxels)) / voxels)

    chances = means(probability.reshape(-1)[places])
    axes = np.unravel_index(places, ensemble.shape)
    index = np.array([means(axis) + first for axis, first in zip(axes, corner, strict=True)])
    centroids = (affine[:3, :3] @ index).T + affine[:3, 3]
    structural = 1 - np.mean([one.overlaps for one in members], axis=0) if len(members) > 1 else None
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
    agreed = float(np.mean([one.dice for one in members])) if len(members) > 1 else None
    return Lesions(table, len(places), None if agreed is None else 1 - agreed)
