"""How many lesions a scan has and how much of the brain they fill, with split-conformal intervals.

Both are judged as ln(1 + x), with volumes in ml, where errors of small and large burdens are alike: the mean is the
ensemble's, the variance that of the members, and ``LEAST_SD`` squared so that agreeing members still say something.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.calibration import IntervalTable, interval_table

LEAST_SD = 0.3
"""Of ln(1 + x): what borders and raters leave open where members agree. A smaller one leaves it to the multipliers,
which then blow up the intervals of scans on which members differ."""
LEVEL = 0.9
"""Coverage of the intervals in answers."""


@dataclass(frozen=True)
class Interval:
    """Of central coverage ``level``, in the unit of its quantity."""

    level: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Quantity:
    """A count, or a volume in ml."""

    value: float
    """The ensemble's."""
    log_sd: float
    """Standard deviation of ln(1 + value)."""

    def interval(self, table: IntervalTable | None, level: float = LEVEL) -> Interval | None:
        """Of the tabulated level nearest above ``level``, else of the highest; None without a table."""
        if table is None or not table.levels:
            return None
        index = min(int(np.searchsorted(table.levels, level - 1e-12)), len(table.levels) - 1)
        half = table.multipliers[index] * self.log_sd
        mean = math.log1p(self.value)
        return Interval(table.levels[index], max(math.expm1(mean - half), 0.0), math.expm1(mean + half))


@dataclass(frozen=True)
class Burden:
    """Lesions of a scan on the networks' grid."""

    count: Quantity
    volume_ml: Quantity
    count_interval: Interval | None = None
    volume_ml_interval: Interval | None = None


def quantity(value: float, members: Sequence[float]) -> Quantity:
    """What the ensemble says, with the spread of what each member says."""
    variance = float(np.var(np.log1p(members))) if len(members) > 1 else 0.0
    return Quantity(value, math.sqrt(variance + LEAST_SD**2))


def fit(predicted: Sequence[Quantity], truth: Sequence[float]) -> IntervalTable:
    """Multipliers of ``log_sd`` from calibration scans whose true counts, or volumes in ml, are known.

    Raises:
        ValueError: no scans, different numbers of them, or a truth that is negative or not finite.
    """
    if len(predicted) != len(truth):
        raise ValueError(
            f"{len(predicted)} predictions and {len(truth)} truths are given; one of each a scan is needed"
        )
    true = np.asarray(truth, np.float64)
    if wrong := int((~(np.isfinite(true) & (true >= 0))).sum()):
        raise ValueError(f"{wrong} of {len(true)} true values are negative or not finite")
    means = np.log1p([one.value for one in predicted])
    return interval_table(means, np.square([one.log_sd for one in predicted]), np.log1p(true))
