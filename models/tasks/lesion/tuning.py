"""The probability from which a voxel is lesion, by the nDSC of development scans (Shifts 2.0, Table 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL
from models.assessment.segmentation import REFERENCE_LOAD, SMALL_VOXELS, drop_small_components, ndsc_of_counts

STEP = 0.01


@dataclass(frozen=True)
class Tuned:
    """What every threshold reaches."""

    threshold: float
    """The best; the middle one of several that are best."""
    ndsc: float
    """Mean over scans with the best."""
    levels: NDArray[np.float64]
    """All thresholds, [L]."""
    curve: NDArray[np.float64]
    """Mean nDSC of each, [L]."""


def tune(
    scans: Iterable[tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]], *, small_voxels: int = SMALL_VOXELS
) -> Tuned:
    """The best threshold for ensemble probabilities and truths [x, y, z], taken one scan after the other.

    A prediction is what is served: probability >= threshold, components of at most ``small_voxels`` voxels dropped.

    Raises:
        ValueError: no scan, or none that has an nDSC.
    """
    levels = np.round(np.arange(STEP, 1 - STEP / 2, STEP), 6)
    curves = [scores(probability, truth, levels, small_voxels=small_voxels) for probability, truth in scans]
    known = [curve for curve in curves if np.isfinite(curve).all()]
    if not known:
        raise ValueError(f"a threshold needs at least one scan with some voxels that are no lesion, got {len(curves)}")
    curve = np.mean(known, axis=0)
    best = np.flatnonzero(curve >= curve.max() - 1e-12)
    return Tuned(float(levels[best[len(best) // 2]]), float(curve.max()), levels, curve)


def scores(
    probability: NDArray[np.floating[Any]], truth: NDArray[np.bool_], levels: NDArray[np.float64], *, small_voxels: int
) -> NDArray[np.float64]:
    """nDSC of a scan at each of increasing thresholds, [L]."""
    lesion, voxels = int(np.count_nonzero(truth)), truth.size
    false_positives, false_negatives = (np.zeros(len(levels), np.int64) for _ in range(2))
    for number, level in enumerate(levels):
        marked = probability >= probability.dtype.type(level)
        box = _box(marked)
        probability, truth = probability[box], truth[box]  # higher thresholds mark less
        marked = drop_small_components(marked[box], small_voxels) if truth.size else marked[box]
        found = int(np.count_nonzero(marked & truth))
        false_positives[number] = np.count_nonzero(marked) - found
        false_negatives[number] = lesion - found
    return ndsc_of_counts(false_positives, false_negatives, lesion, voxels, REFERENCE_LOAD, OFFICIAL)


def _box(marked: NDArray[np.bool_]) -> tuple[slice, ...]:
    """The smallest box around what is marked."""
    box = []
    for axis in range(marked.ndim):
        along = np.flatnonzero(marked.any(axis=tuple(other for other in range(marked.ndim) if other != axis)))
        box.append(slice(int(along[0]), int(along[-1]) + 1) if len(along) else slice(0, 0))
    return tuple(box)
