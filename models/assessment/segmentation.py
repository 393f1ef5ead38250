"""Agreement of a predicted segmentation with the ground truth, by voxel and by lesion (Shifts 2.0, C.2).

Arrays are binary, of any number of dimensions; lesions are groups of voxels that share faces.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.components import listed, overlaps
from models.assessment.convention import OFFICIAL, Convention

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Float64 = NDArray[np.float64]

REFERENCE_LOAD = 0.001
"""Parameter r of the nDSC: the share of lesion voxels to which precision is adjusted."""
OVERLAP = 0.5
"""Least IoU of a found lesion, as reported by the released evaluation (its function's default is 0.25)."""
SMALL_VOXELS = 9
"""Largest number of voxels of components that are dropped from a prediction (9 mm^3 at 1 mm)."""


def dice(truth: Array, prediction: Array) -> float:
    """Return Dice similarity 2 TP / (2 TP + FP + FN), 0 to 1; 1 if both are empty.

    Raises:
        ValueError: different shapes, no voxels, or a value other than 0 and 1.
    """
    truth, prediction = binary_pair(truth, prediction)
    marked = np.count_nonzero(truth) + np.count_nonzero(prediction)
    return 2 * np.count_nonzero(truth & prediction) / marked if marked else 1.0


def ndsc(
    truth: Array, prediction: Array, *, reference: float = REFERENCE_LOAD, convention: Convention = OFFICIAL
) -> float:
    """Return Dice normalised for lesion load, 0 to 1 (Shifts 2.0, C.2.1).

    It depends on the size of the array: a crop or padding changes it. False positives are weighted by k = (1 - r) h /
    (r (N - h)), with h lesion voxels of N, which gives precision r at full recall. It is 1 if both are empty; for an
    empty ground truth k = 1 and the result is 0; for a ground truth of lesion only it is NaN. The official form is
    harmonic, 2 TP / (2 TP + k FP + FN); the text's is the geometric mean of precision TP / (TP + k FP) and recall.

    Raises:
        ValueError: as ``dice``, or a reference load outside (0, 1).
    """
    truth, prediction = binary_pair(truth, prediction)
    lesion = int(np.count_nonzero(truth))
    false_positives = np.array([np.count_nonzero(prediction & ~truth)])
    false_negatives = np.array([np.count_nonzero(truth & ~prediction)])
    scores = ndsc_of_counts(false_positives, false_negatives, lesion, truth.size, reference, convention)
    return float(scores[0])


def ndsc_of_counts(
    false_positives: Array, false_negatives: Array, lesion: int, voxels: int, reference: float, convention: Convention
) -> Float64:
    """Return nDSC of several predictions [P] for one ground truth with ``lesion`` of ``voxels`` marked, float64 [P]."""
    if not 0 < reference < 1:
        raise ValueError(f"reference is {reference}: a share of lesion voxels lies between 0 and 1, exclusive")
    if lesion == voxels:  # k is infinite, and there are no false positives for it to weight
        return np.full(len(false_positives), math.nan)
    if lesion == 0:
        return np.where(false_positives == 0, 1.0, 0.0)
    k = (1 - reference) * lesion / (reference * (voxels - lesion))
    hits = (lesion - false_negatives).astype(np.float64)
    if convention.geometric_ndsc:
        precision = hits / np.maximum(hits + k * false_positives, 1)  # 0 / 0, nothing predicted, is 0
        return np.asarray(np.sqrt(precision * hits / lesion))
    return np.asarray(2 * hits / (2 * hits + k * false_positives + false_negatives))


def lesion_f1(truth: Array, prediction: Array, *, overlap: float = OVERLAP, convention: Convention = OFFICIAL) -> float:
    """Return F1 = TP / (TP + (FP + FN) / 2) of connected components, 0 to 1; 1 if there are none (Shifts 2.0, C.2.2).

    A predicted lesion is a true positive if its largest IoU with a true one reaches ``overlap``, otherwise a false
    positive; a true lesion whose largest IoU with a predicted one does not is a false negative. With
    ``Convention.strict_overlap`` the limit itself does not count as reached.

    Raises:
        ValueError: as ``dice``, or an overlap outside [0, 1].
    """
    if not 0 <= overlap <= 1:
        raise ValueError(f"overlap is {overlap}: an IoU lies between 0 and 1")
    truth, prediction = binary_pair(truth, prediction)
    shared = overlaps(listed(truth), listed(prediction))
    reached = np.greater if convention.strict_overlap else np.greater_equal
    hits = np.count_nonzero(reached(shared.theirs, overlap))
    wrong = len(shared.theirs) - hits + np.count_nonzero(~reached(shared.ours, overlap))
    return hits / (hits + 0.5 * wrong) if hits + wrong else 1.0


def drop_small_components(segmentation: Array, voxels: int = SMALL_VOXELS) -> Bools:
    """Return the components of more than ``voxels`` voxels, as bool of the same shape.

    Raises:
        ValueError: no voxels, or a value other than 0 and 1.
    """
    return listed(_binary("segmentation", segmentation), voxels).mask()


def binary_pair(truth: Array, prediction: Array) -> tuple[Bools, Bools]:
    """Return both as bool, checked as in ``dice``."""
    if truth.shape != prediction.shape:
        raise ValueError(f"truth and prediction need one shape, got {truth.shape} and {prediction.shape}")
    return _binary("truth", truth), _binary("prediction", prediction)


def _binary(name: str, values: Array) -> Bools:
    if not values.size:
        raise ValueError(f"{name} has no voxels, its shape is {values.shape}")
    if values.dtype == np.bool_:
        return values
    marked = values == 1
    if not (wrong := marked | (values == 0)).all():
        value = values[~wrong][0]
        raise ValueError(f"{name} holds {value}: a segmentation is 0 or 1; apply the threshold to probabilities first")
    return np.asarray(marked)
