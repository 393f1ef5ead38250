"""Units for the choice of a threshold, and the comparison of scores with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.certification.folds import row_draws

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]

LARGEST = float(np.finfo(np.float32).max)
"""Upper limit of thresholds: a score that is infinite in float32, or NaN, is never answered."""


@dataclass(frozen=True)
class Units:
    """Columns of n units; made by ``units``, which checks them."""

    scores: NDArray[np.float32]
    """Uncertainty [n] in float32, in which it is compared; NaN is the least certain."""
    errors: NDArray[np.float64] | None
    """Error [n]; NaN without a label, which needs ``propensity``. None: all are unknown."""
    draws: NDArray[np.float64]
    """Random number in [0, 1) of each unit [n], from its id or row; determines folds, rulers and the order of bets."""
    propensity: NDArray[np.float64] | None = None
    """Probability [n] of a label request, given all that was known at the decision; None if all have labels."""

    def __len__(self) -> int:
        return len(self.scores)

    def part(self, which: Mask | NDArray[np.intp]) -> Units:
        """Return the units of a mask [n], or at indices [k]."""
        return Units(
            self.scores[which],
            None if self.errors is None else self.errors[which],
            self.draws[which],
            None if self.propensity is None else self.propensity[which],
        )


def units(
    scores: Floats,
    errors: Floats | None = None,
    *,
    propensity: Floats | None = None,
    draws: NDArray[np.float64] | None = None,
) -> Units:
    """Check and convert n units.

    Args:
        scores: uncertainties [n], larger is less certain.
        errors: errors or losses [n].
        propensity: propensities of the labels [n], in (0, 1].
        draws: from ``folds.id_draws``; default: by row number.

    Raises:
        ValueError: no units, other lengths, an error that is NaN although all units must be labelled, or a
            propensity outside (0, 1].
    """
    n = len(scores)
    if scores.ndim != 1 or not n:
        raise ValueError(f"uncertainty needs the shape [n] with n > 0, not {list(scores.shape)}")
    for name, values in (("error", errors), ("propensity", propensity), ("draws", draws)):
        if values is not None and values.shape != (n,):
            raise ValueError(f"{name} has the shape {list(values.shape)}; [n] with n = {n} is needed")
    if errors is not None and propensity is None and (wrong := np.isnan(errors)).any():
        row = int(np.argmax(wrong))
        raise ValueError(f"error[{row}] is NaN; units without a label need the propensity that it was asked for with")
    if propensity is not None and not ((propensity > 0) & (propensity <= 1)).all():
        row = int(np.argmin((propensity > 0) & (propensity <= 1)))
        raise ValueError(f"propensity[{row}] is {propensity[row]}; a probability in (0, 1] is needed")
    return Units(
        as_scores(scores),
        None if errors is None else np.asarray(errors, np.float64),
        row_draws(n) if draws is None else draws,
        None if propensity is None else np.asarray(propensity, np.float64),
    )


def as_scores(values: Floats) -> NDArray[np.float32]:
    """Convert scores to float32, as the policy compares them; values beyond its range become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def as_threshold(value: float) -> float:
    """Return the largest finite Python number that is ``value`` in float32.

    Comparing scores with it in double precision gives the same result as in float32.
    """
    with np.errstate(over="ignore"):
        low = np.clip(np.float32(value), np.float32(-LARGEST), np.float32(LARGEST))
        above = float(np.nextafter(low, np.float32(np.inf)))
        middle = float(low) + (min(above, 2.0**128) - float(low)) / 2  # exact in double precision
        return middle if np.float32(middle) == low else float(np.nextafter(middle, -np.inf))


def answered(scores: NDArray[np.float32], threshold: float | None) -> Mask:
    """Return the mask of the answered units [n]: u <= threshold in float32, so NaN defers; None answers none."""
    if threshold is None:
        return np.zeros(len(scores), bool)
    mask: Mask = scores <= np.float32(threshold)
    return mask


def losses(units: Units, acceptable: float | None, bound: float) -> NDArray[np.float64]:
    """Return losses [n] in [0, bound]: 1 if the error exceeds ``acceptable``, or the errors themselves.

    NaN stays NaN (no label).

    Raises:
        ValueError: there are no errors, or one lies outside [0, bound].
    """
    if units.errors is None:
        raise ValueError("risk needs the errors of the units; only retention and capacity do without")
    if acceptable is not None:
        return np.where(np.isnan(units.errors), np.nan, units.errors > acceptable)
    wrong = (units.errors < 0) | (units.errors > bound)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"error[{row}] is {units.errors[row]:g}; without a largest acceptable error, errors in [0, {bound:g}] are "
            "needed: give the acceptable error, or the bound"
        )
    return units.errors
