"""Figures of predicted classes and class probabilities (Shifts 1.0, appendix C.3).

A prediction is either class indices, integers [N], or probabilities [N, C], of which the first largest is the
prediction.

Macro-F1 has two readings, ``Convention.absent_classes_count``: the mean over the classes that occur among labels or
predictions, or over all declared ones, those that never occur counting zero. Shifts 1.0 prints two sets of macro-F1 for
the same models at the same accuracy (Table 9, CatBoost ensemble, dev in-domain: 51.0 in the appendix file, 42.3 in the
full paper). The two readings do not explain that: with nine declared classes they differ by a factor j / 9 if j classes
occur, while the printed ratios of the ensembles lie between 0.61 and 0.89, 17 of 18 are not multiples of a ninth, and
they differ between models on the same rows. The harmonic mean of averaged precision and averaged recall is never below
the mean of the classes' F1, by an amount that depends on the model, so it could be the larger set; the printed figures
cannot decide that. The printed macro-F1 of the majority class (17.2 % at 37.9 % accuracy) does not fit any number of
classes j either: it would be 55.0 % / j.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL, Convention

Array = NDArray[Any]
Integers = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

SUM_TOLERANCE = 5e-3
"""Tolerance of the sum of a row of probabilities, which may have been float16, or written with three decimals."""


@dataclass(frozen=True, slots=True)
class Majority:
    """Baseline that always predicts the most frequent class of the labels."""

    label: int
    """Predicted class; the smallest of equally frequent ones."""
    accuracy: float
    """Accuracy, 0 to 1."""
    macro_f1: float
    """Macro-F1, 0 to 1."""


def predicted_classes(probabilities: Floats) -> NDArray[np.int64]:
    """Return the first most probable class of each row of [N, C], int64 [N].

    Raises:
        ValueError: no rows or classes, values outside [0, 1] or NaN, or rows that do not sum to one.
    """
    return np.asarray(np.argmax(_checked_probabilities(probabilities), axis=1), np.int64)


def error_indicator(labels: Integers, prediction: Array, classes: int | None = None) -> Float64:
    """Return 1 if the predicted class is not the label, else 0, for each row, float64 [N].

    Args:
        labels: true classes [N], 0 to C - 1.
        prediction: classes [N] or probabilities [N, C].
        classes: C, if it does not follow from probabilities; labels are then checked against it.

    Raises:
        ValueError: no rows, different lengths, or a class out of range (the message names row and value).
    """
    labels, predicted, _ = _checked(labels, prediction, classes)
    return np.asarray(labels != predicted, np.float64)


def accuracy(labels: Integers, prediction: Array, classes: int | None = None) -> float:
    """Return the share of rows whose predicted class is the label, 0 to 1. Arguments and errors as
    ``error_indicator``."""
    return 1.0 - float(np.mean(error_indicator(labels, prediction, classes)))


def macro_f1(
    labels: Integers, prediction: Array, classes: int | None = None, *, convention: Convention = OFFICIAL
) -> float:
    """Return the unweighted mean of the classes' one-against-all F1 = 2 TP / (2 TP + FP + FN) (Shifts 1.0, C.3).

    It is from 0 to 1. The official reading is scikit-learn's default. The module docstring compares it with the printed
    tables.

    Raises:
        ValueError: as ``error_indicator``, or the convention counts absent classes and their number is unknown.
    """
    labels, predicted, known = _checked(labels, prediction, classes)
    if known is None and convention.absent_classes_count:
        raise ValueError("classes is missing: this reading of macro-F1 averages over all declared classes, give C")
    size = known or int(max(labels.max(), predicted.max())) + 1
    hits = np.bincount(labels[labels == predicted], minlength=size)
    marked = np.bincount(labels, minlength=size) + np.bincount(predicted, minlength=size)  # 2 TP + FP + FN
    f1 = 2 * hits / np.maximum(marked, 1)
    return float(np.mean(f1 if convention.absent_classes_count else f1[marked > 0]))


def majority(labels: Integers, classes: int | None = None, *, convention: Convention = OFFICIAL) -> Majority:
    """Return the baseline that always predicts the most frequent class of the labels [N].

    Raises:
        ValueError: as ``macro_f1``.
    """
    checked, _, _ = _checked(labels, labels, classes)
    label = int(np.argmax(np.bincount(checked)))
    answer = np.full(len(checked), label)
    return Majority(
        label=label,
        accuracy=accuracy(checked, answer, classes),
        macro_f1=macro_f1(checked, answer, classes, convention=convention),
    )


def nll(labels: Integers, probabilities: Floats) -> Float64:
    """Return the negative log-likelihood of each label, -ln p, nats, float64 [N]; infinite for a probability of zero.

    Raises:
        ValueError: as ``predicted_classes`` and ``error_indicator``.
    """
    labels, _, _ = _checked(labels, probabilities, None)
    chosen = np.asarray(probabilities[np.arange(len(labels)), labels], np.float64)
    with np.errstate(divide="ignore"):
        return 0.0 - np.log(chosen)  # not -log, which gives -0.0 for a sure answer


def brier(labels: Integers, probabilities: Floats) -> Float64:
    """Return the squared distance of each row [N, C] to its one-hot label, 0 to 2, float64 [N]. Errors as ``nll``."""
    labels, _, _ = _checked(labels, probabilities, None)
    distance = np.array(probabilities, np.float64)
    distance[np.arange(len(labels)), labels] -= 1
    return np.asarray(np.square(distance).sum(axis=1))


def _checked(
    labels: Integers, prediction: Array, classes: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], int | None]:
    """Return labels and predicted classes, checked to be in range, and the number of declared classes if known."""
    if labels.ndim != 1 or not len(labels) or prediction.ndim not in (1, 2) or len(prediction) != len(labels):
        shapes = f"labels {labels.shape}, prediction {prediction.shape}"
        raise ValueError(f"need labels [N] and a prediction [N] or [N, C] with N at least 1, got {shapes}")
    if prediction.ndim == 2:
        if classes not in (None, prediction.shape[1]):
            raise ValueError(f"classes is {classes}, but the probabilities have {prediction.shape[1]} columns")
        classes = prediction.shape[1]
        predicted = predicted_classes(prediction)
    else:
        predicted = _in_range("prediction", prediction, classes)
    return _in_range("labels", labels, classes), predicted, classes


def _in_range(name: str, values: Array, classes: int | None) -> NDArray[np.int64]:
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"{name} are of type {values.dtype}: give integer class indices 0 to C - 1, not class codes")
    wrong = (values < 0) | (values >= classes) if classes is not None else values < 0
    if wrong.any():
        row = int(np.argmax(wrong))
        allowed = f"0 to {classes - 1}" if classes is not None else "0 or more"
        raise ValueError(f"{name}[{row}] is {values[row]}, allowed is {allowed}: map class codes to indices first")
    return values.astype(np.int64, copy=False)


def _checked_probabilities(probabilities: Floats) -> Floats:
    if probabilities.ndim != 2 or not probabilities.size:
        raise ValueError(f"probabilities need the shape [N, C] with N and C at least 1, got {probabilities.shape}")
    sums = probabilities.sum(axis=1, dtype=np.float64)
    wrong = ~((probabilities >= 0).all(axis=1) & (np.abs(sums - 1) <= SUM_TOLERANCE))  # NaN is wrong, too
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"probabilities[{row}] sums to {sums[row]:.6g} with least value {probabilities[row].min():.6g}: "
            f"a row has values from 0 to 1 that sum to 1 within {SUM_TOLERANCE:g}; apply softmax to logits first"
        )
    return probabilities
