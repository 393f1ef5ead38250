"""Error- and F-retention curves with the conventions of the released Shifts code.

Curves are float64 [n + 1], indexed by the number of retained units k = 0..n, most certain first. (The
released error curve is the same array reversed.) Values divide by all n units: what is not retained counts as
error zero.

Departures between the papers' text and the code are decided for the code: the acceptance limit is inclusive,
the F curve's axis is k / (n + 1), so that its area ends at n / (n + 1).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Curve = NDArray[np.float64]
Area = Literal["mean", "trapezoid"]
"""``mean`` of the n + 1 points (weather, translation, motion); ``trapezoid`` over [0, 1] (vessel)."""

_EPSILON = 1e-10  # in the denominator of F, as released


def error_curve(errors: Floats, uncertainty: Floats, *, group_ties: bool = True) -> Curve:
    """Sum of the errors of the k most certain units, divided by n.

    Args:
        errors: error of each unit [n].
        uncertainty: its measure [n], larger is less certain.
        group_ties: errors inside a group of equal uncertainty are replaced by the group's mean (released
            code but for vessel); False keeps input order among ties.

    Raises:
        ValueError: no units, different lengths, or an uncertainty that is NaN.
    """
    errors, uncertainty = _checked(errors, uncertainty)
    order = np.argsort(uncertainty, kind="stable")
    ranked = errors[order]
    if group_ties:
        _, group, count = np.unique(uncertainty[order], return_inverse=True, return_counts=True)
        ranked = (np.bincount(group, ranked) / count)[group]
    return np.concatenate([[0.0], np.cumsum(ranked)]) / len(errors)


def optimal_curve(errors: Floats) -> Curve:
    """The curve of a measure that ranks as the errors do."""
    return error_curve(errors, errors, group_ties=False)


def random_curve(errors: Floats) -> Curve:
    """Expected curve of a measure that says nothing: a straight line to the mean error."""
    return np.linspace(0.0, float(np.mean(errors, dtype=np.float64)), len(errors) + 1)


def r_auc(curve: Curve, area: Area = "mean") -> float:
    """Area under an error curve, in the error's unit."""
    if area == "mean":
        return float(np.mean(curve))
    return float((np.sum(curve) - 0.5 * (curve[0] + curve[-1])) / (len(curve) - 1))


def prr(errors: Floats, uncertainty: Floats) -> float:
    """Prediction rejection ratio, %: 100 ranks as the errors do, 0 at random; NaN for constant errors."""
    random = float(np.mean(errors, dtype=np.float64)) / 2
    ideal = r_auc(error_curve(errors, errors))
    if len(errors) < 2 or np.ptp(errors) == 0:
        return float("nan")
    return 100 * (r_auc(error_curve(errors, uncertainty)) - random) / (ideal - random)


def f_curve(errors: Floats, uncertainty: Floats, acceptable: float, *, beta: float = 1.0) -> Curve:
    """F-beta of "retained" as a prediction of "error <= acceptable", per number retained.

    Among equal uncertainties the later input row is retained first, as released. NaN (but for k = 0) where
    no error is acceptable.

    Raises:
        ValueError: as ``error_curve``.
    """
    errors, uncertainty = _checked(errors, uncertainty)
    n = len(errors)
    order = np.argsort(uncertainty[::-1], kind="stable")
    good = np.cumsum(errors[::-1][order] <= acceptable, dtype=np.float64)
    if good[-1] == 0:
        return np.concatenate([[0.0], np.full(n, np.nan)])
    precision, recall = good / np.arange(1, n + 1), good / good[-1]
    f = (1 + beta**2) * precision * recall / (beta**2 * precision + recall + _EPSILON)
    return np.concatenate([[0.0], f])


def f_auc(curve: Curve) -> float:
    """Area under an F curve over k / (n + 1), k = 0..n: perfect data gives 2 - 2 ln 2 = 0.614, not 1."""
    return float((np.sum(curve) - 0.5 * (curve[0] + curve[-1])) / len(curve))


def f_at(curve: Curve, retention: float = 0.95) -> float:
    """F with int(retention * (n + 1)) units retained, as released."""
    return float(curve[int(retention * len(curve))])


def _checked(errors: Floats, uncertainty: Floats) -> tuple[Curve, Floats]:
    if errors.shape != uncertainty.shape or errors.ndim != 1 or not len(errors):
        raise ValueError(f"need two arrays of one length, got shapes {errors.shape} and {uncertainty.shape}")
    if np.isnan(uncertainty).any():
        raise ValueError("an uncertainty is NaN: it has no rank")
    return np.asarray(errors, np.float64), uncertainty
