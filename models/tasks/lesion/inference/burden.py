"""Lesion burden of a scan: number and total volume of lesions, with split-conformal intervals.

Both are modelled as ln(1 + x), with volumes in ml, so that errors of small and large burdens are comparable. The mean
is the ensemble's; the variance is that of the members plus ``LEAST_SD`` squared, so that it is positive if members
agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.calibration import IntervalTable, interval_table

LEAST_SD = 0.3
"""Standard deviation of ln(1 + x) that borders and raters leave if members agree. With a smaller value the multipliers
grow, and the intervals of scans on which members differ become too wide.
"""
LEVEL = 0.9
"""Coverage of the intervals in responses."""


@dataclass(frozen=True)
class Interval:
    """Interval of central coverage ``level``, in the unit of its quantity."""

    level: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Quantity:
    """Estimate of a count, or of a volume in ml."""

    value: float
    """Value of the ensemble."""
    log_sd: float
    """Standard deviation of ln(1 + value)."""

    def interval(self, table: IntervalTable | None, level: float = LEVEL) -> Interval | None:
        """Return the interval of the tabulated level nearest above ``level``, else of the highest.

        None without a table.
        """
        if table is None or not table.levels:
            return None
        index = min(int(np.searchsorted(table.levels, level - 1e-12)), len(table.levels) - 1)
        half = table.multipliers[index] * self.log_sd
        mean = math.log1p(self.value)
        return Interval(table.levels[index], max(math.expm1(mean - half), 0.0), math.expm1(mean + half))


@dataclass(frozen=True)
class Burden:
    """Lesion burden of a scan on the networks' grid."""

    count: Quantity
    volume_ml: Quantity
    count_interval: Interval | None = None
    volume_ml_interval: Interval | None = None


def quantity(value: float, members: Sequence[float]) -> Quantity:
    """Return the ensemble's value with the spread of its members."""
    variance = float(np.var(np.log1p(members))) if len(members) > 1 else 0.0
    return Quantity(value, math.sqrt(variance + LEAST_SD**2))


def fit(predicted: Sequence[Quantity], truth: Sequence[float]) -> IntervalTable:
    """Fit the multipliers of ``log_sd`` on calibration scans with known counts, or volumes in ml.

    Raises:
        ValueError: there are no scans, the lengths differ, or a true value is negative or not finite.
    """
    if len(predicted) != len(truth):
        raise ValueError(
            f"{len(predicted)} predictions and {len(truth)} truths are given; one of each a scan is needed"
        )
    true = np.asarray(truth, np.float64)
    if wrong := int((~(np.isfinite(true) & (true >= 0))).sum()):
        raise ValueError(f"{wrong} of {len(true)} true values are negative or not finite")
    means = np.log1p([estimate.value for estimate in predicted])
    return interval_table(means, np.square([estimate.log_sd for estimate in predicted]), np.log1p(true))
