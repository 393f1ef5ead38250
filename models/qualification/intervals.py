"""Intervals of Gaussian heads under another numeric profile: multipliers for moved means and changed scales.

A calibrated interval is mean ± q sd: it covers the share ``level``. Under the new profile a unit has the mean m and the
standard deviation s instead of m0 and s0, with Δm = m - m0. The new interval contains the calibrated one where

    q' s >= q s0 + |Δm|,   that is   q' >= q s0 / s + |Δm| / s.

q' is quantile 0.999 over the units of the right side (order statistic ceil((n + 1) 0.999), the largest below 999
units), itself the largest over batch sizes. For a unit of the same law the new interval contains the calibrated one
with at least 99.9 % (n / (n + 1) below 999 units), so it covers at least ``level`` less 0.001 (1 / (n + 1)). No law of
the errors is assumed.

The differences of means also show whether the calibrated errors still apply, which scores cannot show. In standard
deviations of the prediction, quantile 0.999 of |Δm| / s0:

- up to 0.01, the expected squared error changes by at most 1e-4 of the predicted variance: certificates may stand;
- up to 0.1, it changes by at most 1 %: thresholds are mapped at best, certificates are void;
- above that, the predictions are different ones, and everything is deferred.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.calibration import IntervalTable
from models.qualification.replayed import Float64
from models.qualification.threshold import QUANTILE, Verdict

MEANS_CARRIED = 0.01
MEANS_MAPPED = 0.1
WIDEST = 2.0
"""Limit of a multiplier's growth beyond the change of the standard deviation's scale; others are left out."""


@dataclass(frozen=True)
class Means:
    """Predictions of one Gaussian head under both profiles, in the head's unit and its square."""

    reference: NDArray[np.floating[Any]]
    """Means under the reference profile [n]."""
    reference_variance: NDArray[np.floating[Any]]
    """Variances under the reference profile [n]."""
    means: NDArray[np.floating[Any]]
    """Means under the new profile [B, n]."""
    variances: NDArray[np.floating[Any]]
    """Variances under the new profile [B, n]."""


@dataclass(frozen=True)
class MeansVerdict:
    """Shift of means, in standard deviations of the reference prediction."""

    verdict: Verdict
    mean: float
    """Mean of |Δm| / s0, at the worst batch size."""
    high: float
    """Quantile 0.999 of its largest value over batch sizes (the maximum below 999 units)."""
    largest: float
    """Largest |Δm|, in the head's unit."""
    reason: str
    """Reason why the intervals are not carried; empty if they are."""


def judge_means(means: Means) -> MeansVerdict:
    """Decide whether predictions are close enough for the calibrated errors to apply."""
    moved, sd = _moved(means), _sd(means.reference_variance)
    if unusable := int((~np.isfinite(moved).all(axis=0) | ~np.isfinite(sd)).sum()):
        why = f"{unusable} of {len(sd)} units have a mean or variance that is not finite"
        return MeansVerdict("refused", math.inf, math.inf, math.inf, why)
    relative = _relative(moved, sd)
    high = _high(relative.max(axis=0))
    verdict: Verdict = "carried" if high <= MEANS_CARRIED else "mapped" if high <= MEANS_MAPPED else "refused"
    limit = {"carried": math.inf, "mapped": MEANS_CARRIED, "refused": MEANS_MAPPED}[verdict]
    why = "" if verdict == "carried" else f"means move by {high:.3g} predicted standard deviations, more than {limit:g}"
    return MeansVerdict(verdict, float(relative.mean(axis=1).max()), high, float(moved.max()), why)


def carried_intervals(table: IntervalTable, means: Means) -> IntervalTable | None:
    """Return multipliers for the new profile, without levels that would exceed ``WIDEST``; None if none is left.

    The means have to be finite; variances of 0 under the new profile leave all levels out.
    """
    moved, before = _moved(means), _sd(means.reference_variance)
    after = np.sqrt(np.asarray(means.variances, np.float64))
    if not moved.any() and (after == before).all():
        return table
    with np.errstate(divide="ignore", invalid="ignore"):
        scale, offset = before / after, moved / after
    scale[(before == 0) & (after == 0)] = 1.0
    offset[moved == 0] = 0.0
    usual = float(np.median(scale))
    kept = {}
    for level, multiplier in zip(table.levels, table.multipliers, strict=True):
        with np.errstate(invalid="ignore"):
            carried = _high((multiplier * scale + offset).max(axis=0))
        if math.isfinite(carried) and carried <= WIDEST * multiplier * usual:
            kept[level] = float(np.nextafter(carried, np.inf))
    return IntervalTable(table.units, tuple(kept), tuple(kept.values())) if kept else None


def _moved(means: Means) -> Float64:
    """Return |Δm| [B, n]."""
    return np.asarray(np.abs(np.asarray(means.means, np.float64) - np.asarray(means.reference, np.float64)))


def _sd(variance: NDArray[np.floating[Any]]) -> Float64:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(np.asarray(variance, np.float64)))


def _relative(moved: Float64, sd: Float64) -> Float64:
    """Return the ratio; infinite if a mean moves without a standard deviation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved == 0, 0.0, moved / sd)


def _high(values: Float64) -> float:
    """Return the order statistic of values [n] at ``QUANTILE``; NaN is the largest."""
    rank = min(math.ceil((len(values) + 1) * QUANTILE), len(values))
    value = float(np.sort(values)[rank - 1])
    return math.inf if math.isnan(value) else value
