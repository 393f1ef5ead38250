"""Evaluation of models on one scan: scores at every threshold, then all figures at the chosen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.assessment import segmentation
from models.assessment.convention import OFFICIAL
from models.assessment.segmentation_retention import POINTS, log_grid, voxel_curve, voxel_r_aac
from models.tasks.lesion.training import tuning
from models.uncertainty.voxels import scan_structural_uncertainty, voxel_uncertainty
from studies.jobs import save_arrays

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEVELS = np.round(np.arange(tuning.STEP, 1 - tuning.STEP / 2, tuning.STEP), 6)
"""Thresholds to try."""
MEASURES = ("entropy", "mi", "rmi")
FIGURES = ("ndsc", "dice", "lesion_f1", "structural", "wrong", "missed", *(f"r_aac_{name}" for name in MEASURES))
"""Figures of a model and scan: scores 0 to 1; structural uncertainty (NaN for single models); false positive and false
negative voxels in the brain; area above the retention curve by measure (NaN if single models have none).
"""


@dataclass(frozen=True)
class Model:
    """Model of a row: the mean probability of its members."""

    row: str
    members: tuple[int, ...]
    """Positions among all members; one position for a single model."""


@dataclass(frozen=True)
class ScanFigures:
    """Figures of all models on one scan."""

    figures: Float64
    """Figures, [models, FIGURES]."""
    curves: Float32
    """nDSC at ``log_grid`` by measure, [models, MEASURES, 200]; NaN if there is none."""
    scan: Float64
    """Lesion voxels and voxels of the volume, then of the brain, [4]."""

    def save(self, path: Path) -> None:
        """Write the figures atomically."""
        save_arrays(path, figures=self.figures, curves=self.curves, scan=self.scan)

    @classmethod
    def load(cls, path: Path) -> ScanFigures:
        with np.load(path) as arrays:
            return cls(arrays["figures"], arrays["curves"], arrays["scan"])


def probability(differences: Float32, model: Model) -> Float32:
    """Return the mean probability of a model's members, [x, y, z]."""
    mean = np.zeros(differences.shape[1:], np.float32)
    for member in model.members:
        mean += sigmoid(differences[member])
    mean /= len(model.members)
    return mean


def sigmoid(difference: Float32) -> Float32:
    """Return 1 / (1 + exp(-d)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * difference)))


def scores(differences: Float32, truth: Mask, models: Sequence[Model]) -> Float64:
    """Return nDSC of each model at each of ``LEVELS``, [models, levels]."""
    return np.stack(
        [
            tuning.scores(probability(differences, model), truth, LEVELS, small_voxels=segmentation.SMALL_VOXELS)
            for model in models
        ]
    )


def threshold(curves: Float64) -> float:
    """Return the level with the best mean nDSC of scans [S, levels]; the middle one of several best levels."""
    mean = curves.mean(axis=0)
    best = np.flatnonzero(mean >= mean.max() - 1e-12)
    return float(LEVELS[best[len(best) // 2]])


def judge(
    differences: Float32, truth: Mask, brain: Mask, models: Sequence[Model], thresholds: Mapping[Model, float]
) -> ScanFigures:
    """Compute all figures at the models' thresholds: retention inside the brain, scores over the whole volume.

    Models without a threshold have NaN.
    """
    inside = truth[brain]
    spoken = np.ascontiguousarray(differences[:, brain])
    figures = np.full((len(models), len(FIGURES)), np.nan)
    curves = np.full((len(models), len(MEASURES), POINTS), np.nan, np.float32)
    for number, model in enumerate(models):
        if model not in thresholds:
            continue
        level = np.float32(thresholds[model])
        marked = segmentation.drop_small_components(probability(differences, model) >= level)
        box = _box(marked | truth)
        measured = {
            "ndsc": segmentation.ndsc(truth, marked),
            "dice": segmentation.dice(truth, marked),
            "lesion_f1": segmentation.lesion_f1(truth[box], marked[box]),
        }
        predicted = marked[brain]
        measured["wrong"] = int(np.count_nonzero(predicted & ~inside))
        measured["missed"] = int(np.count_nonzero(inside & ~predicted))
        uncertainty = voxel_uncertainty([spoken[member] for member in model.members])
        for place, measure in enumerate(MEASURES):
            values = getattr(uncertainty, measure)
            if values is not None:
                curve = voxel_curve(inside, predicted, values)
                curves[number, place] = curve
                measured[f"r_aac_{measure}"] = voxel_r_aac(curve)
        if len(model.members) > 1:
            each = [segmentation.drop_small_components(sigmoid(differences[m]) >= level) for m in model.members]
            measured["structural"] = scan_structural_uncertainty(marked, each)
        figures[number] = [measured.get(name, np.nan) for name in FIGURES]
    counts = np.array([truth.sum(), truth.size, inside.sum(), inside.size], np.float64)
    return ScanFigures(figures, curves, counts)


def random_curve(wrong: float, missed: float, lesion: float, voxels: float) -> Float64:
    """Return the expected nDSC at ``log_grid`` for voxels retained in random order, float64 [200]."""
    share = log_grid()
    return segmentation.ndsc_of_counts(
        wrong * share, missed * share, int(lesion), int(voxels), segmentation.REFERENCE_LOAD, OFFICIAL
    )


def ideal_curve(wrong: float, missed: float, lesion: float, voxels: float) -> Float64:
    """Return nDSC at ``log_grid`` if errors are replaced first, both kinds evenly, float64 [200]."""
    errors = wrong + missed
    left = np.maximum(np.floor(voxels * log_grid()) - (voxels - errors), 0) / max(errors, 1)
    return segmentation.ndsc_of_counts(
        wrong * left, missed * left, int(lesion), int(voxels), segmentation.REFERENCE_LOAD, OFFICIAL
    )


def _box(marked: Mask) -> tuple[slice, ...]:
    """Return the smallest box around the marked voxels, at least one voxel."""
    box = []
    for axis in range(marked.ndim):
        along = np.flatnonzero(marked.any(axis=tuple(other for other in range(marked.ndim) if other != axis)))
        box.append(slice(int(along[0]), int(along[-1]) + 1) if len(along) else slice(0, 1))
    return tuple(box)
