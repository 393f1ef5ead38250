"""95 % intervals of estimates.

With many sampled labels the estimate is normal (Wald). With few it is skewed: errors are positive and their estimate and
its standard error rise together, so that intervals are made for the logarithm, and for shares for the logit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.estimation.window import Doubles

Z = 1.959963984540054  # 97.5 % of a standard normal
FEW = 1000  # sampled labels below which the scale is bent
Scale = Literal["positive", "share"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its standard error and 95 % interval; NaN where the figure does not exist."""

    estimate: float
    se: float
    low: float
    high: float


@dataclass(frozen=True)
class Band:
    """Figures along a curve with pointwise 95 % intervals; arrays [K]."""

    retention: Doubles
    """Share of the units retained."""
    estimate: Doubles
    se: Doubles
    low: Doubles
    high: Doubles


def interval(estimate: float, se: float, sampled: float, scale: Scale) -> Estimate:
    """An estimate with its interval.

    Args:
        sampled: labels that were there by chance.
        scale: ``share`` for what lies between 0 and 1, ``positive`` for errors (which may turn out negative).
    """
    low, high = limits(np.array([estimate]), np.array([se]), sampled, scale)
    return Estimate(estimate, se, float(low[0]), float(high[0]))


def limits(estimate: Doubles, se: Doubles, sampled: float, scale: Scale) -> tuple[Doubles, Doubles]:
    """Ends of the intervals of estimates [K]; other arguments as ``interval``."""
    low, high = estimate - Z * se, estimate + Z * se
    if sampled < FEW:
        bent = (estimate > 0) & (se > 0) & ((estimate < 1) if scale == "share" else True)
        with np.errstate(all="ignore"):
            if scale == "share":
                logit = np.log(estimate / (1 - estimate))
                half = Z * se / (estimate * (1 - estimate))
                ends = 1 / (1 + np.exp(half - logit)), 1 / (1 + np.exp(-half - logit))
            else:
                factor = np.exp(Z * se / estimate)
                ends = estimate / factor, estimate * factor
        low, high = np.where(bent, ends[0], low), np.where(bent, ends[1], high)
    if scale == "share":
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
        low, high = np.minimum(low, estimate), np.maximum(high, estimate)
    return low, high


def root(variance: float) -> float:
    """Standard error of a variance; rounding may leave a small negative one."""
    return math.sqrt(max(variance, 0.0)) if not math.isnan(variance) else math.nan
