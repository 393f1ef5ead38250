"""95 % intervals of estimates.

An estimate is normal around its figure, but its standard error depends on the largest errors among the labels: with
heavy tails it is as uncertain as one from a few dozen labels. So the quantile is Student's, with the degrees of
freedom that the fourth moments give (Satterthwaite 1946). Estimate and standard error of positive errors rise together,
so their intervals are computed for the logarithm. Shares have Wald's intervals with many labels, and those of the logit
with few.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from models.estimation.window import Doubles

FEW = 1000  # number of sampled labels below which intervals of shares use the logit
Scale = Literal["positive", "share", "real"]
"""Scale of errors above 0, of shares between 0 and 1, and of errors of any sign."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Figure with its standard error and 95 % interval; NaN if the figure does not exist."""

    estimate: float
    se: float
    low: float
    high: float


@dataclass(frozen=True)
class Band:
    """Figures along a curve with pointwise 95 % intervals; arrays [K]."""

    retention: Doubles
    """Share of the units that are retained."""
    estimate: Doubles
    se: Doubles
    low: Doubles
    high: Doubles


def quantile(second: Doubles, fourth: Doubles, level: float = 0.95) -> Doubles:
    """Return the two-sided quantile of Student's law with ``2 second² / fourth`` degrees of freedom [K].

    Args:
        level: probability between the quantile and its negative.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(fourth > 0, 2 * second * second / fourth, 1e9)
    return np.asarray(stdtrit(np.clip(freedom, 1.0, 1e9), (1 + level) / 2))


def interval(estimate: float, se: float, t: float, sampled: float, scale: Scale) -> Estimate:
    """Return an estimate with its interval.

    Args:
        t: quantile by which the standard error is multiplied.
        sampled: number of labels that were drawn at random.
    """
    low, high = limits(np.array([estimate]), np.array([t * se]), sampled, scale)
    return Estimate(estimate, se, float(low[0]), float(high[0]))


def limits(estimate: Doubles, half: Doubles, sampled: float, scale: Scale) -> tuple[Doubles, Doubles]:
    """Return the ends of the intervals of estimates [K] with half widths [K]; other arguments as ``interval``."""
    low, high = estimate - half, estimate + half
    if scale == "positive" or (scale == "share" and sampled < FEW):
        bent = (estimate > 0) & (half > 0) & ((estimate < 1) if scale == "share" else True)
        with np.errstate(all="ignore"):
            if scale == "share":
                logit = np.log(estimate / (1 - estimate))
                bend = half / (estimate * (1 - estimate))
                ends = 1 / (1 + np.exp(bend - logit)), 1 / (1 + np.exp(-bend - logit))
            else:
                factor = np.exp(half / estimate)
                ends = estimate / factor, estimate * factor
        low, high = np.where(bent, ends[0], low), np.where(bent, ends[1], high)
    if scale == "share":
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
        low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    return low, high


def root(variance: float) -> float:
    """Return the square root of a variance, which rounding may have made slightly negative."""
    return math.sqrt(max(variance, 0.0)) if not math.isnan(variance) else math.nan
