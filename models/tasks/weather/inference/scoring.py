"""Predictions of many rows, and figures in the conventions of the weather task."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import uncertainty
from models.assessment import classification
from models.assessment import errors as distances
from models.assessment.figures import Errors, Figures, Rules, figures
from models.building import errors_of
from models.executors.members import MemberExecutor
from models.executors.reduced import Reduced
from models.head import Head
from models.predictive import Categorical, Gaussian, Predictive

CHUNK = 2048
"""Number of rows in one pass; progress is reported between passes."""


def predict(
    members: MemberExecutor,
    heads: Sequence[Head],
    rows: NDArray[Any],
    *,
    ensemble: bool,
    progress: Callable[[float], None] = lambda done: None,
) -> dict[str, Any]:
    """Return the statistics of all heads for rows [N, F], as in serving."""
    reduced = Reduced(members, heads, ensemble=ensemble)
    parts = []
    for start in range(0, len(rows), CHUNK):
        parts.append(reduced(np.ascontiguousarray(rows[start : start + CHUNK], np.float32)))
        progress(min((start + CHUNK) / len(rows), 1.0))
    arrays = tuple(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
    return reduced.read(arrays)[0]


def judged(
    head: Head, predictive: Predictive, labels: NDArray[Any], measure: str, shifted: NDArray[np.bool_] | None = None
) -> Figures:
    """Return the retention figures of a head under a measure, as in the released code (R-AUC: mean of points)."""
    assert isinstance(predictive, Gaussian | Categorical)
    values = errors_of(predictive, labels)
    return figures(Errors(values, head.acceptable, Rules()), uncertainty.score(predictive, measure), shifted)


def quality(
    heads: Sequence[Head], predictions: Mapping[str, Any], labels: Mapping[str, Any], ensemble: bool
) -> dict[str, float]:
    """Return the figures of one data set for the manifest, with six significant digits; names begin with the head's."""
    values: dict[str, float] = {}
    for head in heads:
        own = judged(head, predictions[head.name], labels[head.name], head.own_measure(ensemble))
        accuracy = performance(predictions[head.name], labels[head.name])
        retention = {"r_auc": own.r_auc, "f1_auc": own.f1_auc, "f1_at_95": own.f1_at_95}
        values |= {f"{head.name}_{name}": float(f"{value:.6g}") for name, value in (accuracy | retention).items()}
    return values


def performance(predictive: Predictive, labels: NDArray[Any]) -> dict[str, float]:
    """Return RMSE and MAE in °C, or accuracy and macro-averaged F1 as shares (Shifts 1.0, C.3)."""
    if isinstance(predictive, Gaussian):
        return {
            "rmse_celsius": distances.rmse(labels, predictive.mean),
            "mae_celsius": distances.mae(labels, predictive.mean),
        }
    assert isinstance(predictive, Categorical)
    return {
        "accuracy": classification.accuracy(labels, predictive.probabilities),
        "macro_f1": classification.macro_f1(labels, predictive.probabilities),
    }
