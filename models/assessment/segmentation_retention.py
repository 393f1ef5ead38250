"""Retention of segmentations: by voxel (Shifts 2.0, C.2), by patient and by lesion (Molchanova et al.).

Unlike elsewhere, parts that are not retained are replaced by the truth, so that curves rise to 1 at low retention.
Three areas must not be confused: ``voxel_r_aac`` and ``lppv_aac`` lie above their curves, ``patient_auc`` under its
curve.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL, Convention
from models.assessment.segmentation import REFERENCE_LOAD, binary_pair, ndsc_of_counts

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

POINTS = 200
"""Number of points of the voxel curve; the released grid is dense at high retention, because lesions are rare."""


def log_grid(points: int = POINTS) -> Float64:
    """Return retained fractions ln i / ln points for i = 1..points, from 0 to 1, float64 [points]."""
    logs = np.log(np.arange(1, points + 1))
    return np.asarray(logs / logs[-1])


def voxel_curve(
    truth: Array,
    prediction: Array,
    uncertainty: Floats,
    mask: Array | None = None,
    *,
    reference: float = REFERENCE_LOAD,
    convention: Convention = OFFICIAL,
) -> Float64:
    """Return nDSC at ``log_grid``: int(N x) most certain voxels keep the prediction and the others get the truth.

    One sort; equal uncertainties keep the array's order. (The released sort leaves their order undefined.)

    Args:
        truth, prediction: binary volumes of one shape.
        uncertainty: a measure of the same shape, larger is less certain.
        mask: binary volume; only voxels where it is 1 count, N of them: the brain in the released evaluation.
            Without a mask the whole volume counts, background included.

    Returns:
        float64 [200]; all 1 if truth and prediction are empty, NaN if the truth fills the mask.

    Raises:
        ValueError: different shapes, no voxels, a value other than 0 and 1, an uncertainty that is NaN, or a
            reference load outside (0, 1).
    """
    truth, prediction = binary_pair(truth, prediction)
    if uncertainty.shape != truth.shape:
        raise ValueError(f"uncertainty needs the shape of the truth, {truth.shape}, got {uncertainty.shape}")
    if mask is not None:
        inside, _ = binary_pair(mask, truth)
        if not inside.any():
            raise ValueError("mask leaves no voxels: give a mask that is 1 somewhere, or none")
        truth, prediction, uncertainty = truth[inside], prediction[inside], uncertainty[inside]
    truth, prediction, uncertainty = truth.ravel(), prediction.ravel(), uncertainty.ravel()
    if wrong := np.count_nonzero(np.isnan(uncertainty)):
        raise ValueError(f"uncertainty is NaN in {wrong} of {len(uncertainty)} voxels: it has no rank")
    retained = (len(truth) * log_grid()).astype(np.int64)
    order = np.argsort(uncertainty, kind="stable")
    false_positives = _among_retained((prediction & ~truth)[order], retained)
    false_negatives = _among_retained((truth & ~prediction)[order], retained)
    return ndsc_of_counts(
        false_positives, false_negatives, int(np.count_nonzero(truth)), len(truth), reference, convention
    )


def voxel_r_aac(curve: Floats) -> float:
    """Return the area above a voxel curve at ``log_grid``, 0 to 1, which Shifts 2.0 prints (x 100) as R-AUC.

    Figures of several patients are means of their areas, or the area of their mean curve, which is the same.

    Raises:
        ValueError: not 200 points.
    """
    if curve.shape != (POINTS,):
        raise ValueError(f"curve needs the {POINTS} points of log_grid, got shape {curve.shape}")
    return float(1 - np.trapezoid(np.asarray(curve, np.float64), log_grid()))


def patient_curve(scores: Floats, uncertainty: Floats, *, replacement: float = 1.0) -> Float64:
    """Return the mean score if the k most certain patients keep theirs and the others get ``replacement``, k = 0..n.

    Args:
        scores: a score of each patient [n], such as Dice.
        uncertainty: a measure of each patient [n]; equal ones keep the input order.
        replacement: the best possible score: 1, or 0 for a score for which less is better.

    Returns:
        float64 [n + 1] over the retained fractions k / n.

    Raises:
        ValueError: no patients, different lengths, or an uncertainty that is NaN.
    """
    scores, order = np.asarray(scores, np.float64), _order(scores, uncertainty)
    kept = np.concatenate([[0.0], np.cumsum(scores[order])])
    return np.asarray((kept + replacement * np.arange(len(scores), -1, -1)) / len(scores))


def patient_auc(curve: Floats) -> float:
    """Return the area under a patient curve over [0, 1] by trapezoids, as that paper's code does; larger is better."""
    return float(np.trapezoid(np.asarray(curve, np.float64), np.linspace(0, 1, len(curve))))


def lppv_curve(correct: Bools, uncertainty: Floats, fractions: Floats) -> Float64:
    """Return the positive predictive value of one patient's predicted lesions, at retained fractions of them.

    Retaining k of n lesions leaves the true positives, all of them (an expert confirms those not retained), and the
    false positives among the k most certain (an expert removes the others): PPV = TP / (TP + FP), 0 if none is left.
    Between k / n the curve is linear.

    Args:
        correct: whether each predicted lesion is a true positive, bool [n].
        uncertainty: a measure of each [n]; equal ones keep the input order.
        fractions: retained fractions [P], 0 to 1.

    Returns:
        float64 [P].

    Raises:
        ValueError: no lesions, different lengths, an uncertainty that is NaN, or a fraction outside [0, 1].
    """
    order = _order(correct, uncertainty)
    if correct.dtype != np.bool_:
        raise ValueError(f"correct is of type {correct.dtype}: give booleans, true for a true positive")
    if not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError("fractions reach outside [0, 1]: they are retained shares of the lesions")
    hits = np.count_nonzero(correct)
    left = hits + np.concatenate([[0], np.cumsum(~correct[order])])
    curve = hits / np.maximum(left, 1)
    return np.interp(fractions, np.linspace(0, 1, len(curve)), curve)


def lppv_aac(curve: Floats, fractions: Floats) -> float:
    """Return the area above a positive-predictive-value curve [P] over its fractions [P], ascending; less is better."""
    return float(1 - np.trapezoid(np.asarray(curve, np.float64), np.asarray(fractions, np.float64)))


def _among_retained(wrong: Bools, retained: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of wrong ones among the first k, for each k of ``retained``."""
    return np.asarray(np.searchsorted(np.flatnonzero(wrong), retained, side="left"), np.int64)


def _order(values: Array, uncertainty: Floats) -> NDArray[np.intp]:
    """Return the indices from the most to the least certain."""
    if values.shape != uncertainty.shape or values.ndim != 1 or not len(values):
        raise ValueError(f"need two arrays of one length, at least 1, got {values.shape} and {uncertainty.shape}")
    if np.isnan(uncertainty).any():
        raise ValueError("an uncertainty is NaN: it has no rank")
    return np.argsort(uncertainty, kind="stable")
