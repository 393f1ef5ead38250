"""Population stability index and Jensen-Shannon distance of binned scores, with their values without a shift.

Both compare counts, in O(bins), and both are positive by chance alone: without a shift the index is about (B - 1)(1/n +
1/m) on average (Yurdakul & Naranjo 2020), more than the customary limit of 0.1 for 20 bins and 200 units. So the
expectation, the excess over it and a p-value are given as well.

This is a test of one window against the reference: one in twenty windows has p < 0.05. For alarms that hold at all
times see ``martingale`` and ``risk``. Unlike these it detects traffic that differs from the reference from the first
unit on.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, rel_entr

from models.drift.bins import Counts


@dataclass(frozen=True, slots=True)
class Shift:
    """Distance of live scores from the reference; NaN throughout without live scores."""

    psi: float
    """Population stability index (Jeffreys divergence), nats; half a unit is added to each bin, so it is finite."""
    expected: float
    """Mean of the index without a shift: (B - 1)(1/n + 1/m), B being the number of bins that are not empty."""
    p_value: float
    """Pearson's chi-square test that both were drawn from one distribution; for one look at one window."""
    js_distance: float
    """Jensen-Shannon distance with base 2: 0 for equal shares, 1 for disjoint ones."""
    units: int
    """Number of live units."""

    @property
    def excess(self) -> float:
        """Index minus its mean without a shift; about 0 without a shift, and negative half of the time."""
        return self.psi - self.expected


def shift(reference: Counts, live: Counts) -> Shift:
    """Compare live counts with the reference's; counts of replicas and of time buckets may be added first.

    Args:
        reference: in-domain units in each bin [bins].
        live: live units in the same bins [bins].

    Raises:
        ValueError: shapes differ, a count is negative or not finite, or the reference is empty.
    """
    before, after = _counts("reference", reference), _counts("live", live)
    if before.shape != after.shape:
        raise ValueError(f"counts need the same bins, got {len(before)} of the reference and {len(after)} live")
    m, n = float(before.sum()), float(after.sum())
    if m == 0:
        raise ValueError("the reference needs at least one unit")
    if n == 0:
        return Shift(math.nan, math.nan, math.nan, math.nan, 0)
    held = before + after > 0  # a bin that is empty in both is not a degree of freedom
    before, after = before[held], after[held]
    freedom = len(before) - 1
    return Shift(
        psi=_psi(before, after),
        expected=freedom * (1 / n + 1 / m),
        p_value=float(chdtrc(freedom, _chi_square(before, after))) if freedom else 1.0,
        js_distance=_js_distance(before / m, after / n),
        units=round(n),
    )


def _psi(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    p, q = ((counts + 0.5) / (counts.sum() + 0.5 * len(counts)) for counts in (before, after))
    return float(np.sum((p - q) * np.log(p / q)))


def _chi_square(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return chi-square of the table of two rows, by bins; its distribution is accurate for smaller counts than that of
    the index."""
    ratio = math.sqrt(float(after.sum()) / float(before.sum()))
    return float(np.sum(np.square(before * ratio - after / ratio) / (before + after)))


def _js_distance(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    middle = (p + q) / 2
    divergence = float(np.sum(rel_entr(p, middle) + rel_entr(q, middle))) / (2 * math.log(2))
    return math.sqrt(min(max(divergence, 0.0), 1.0))


def _counts(name: str, counts: Counts) -> NDArray[np.float64]:
    values = np.asarray(counts, np.float64)
    if values.ndim != 1:
        raise ValueError(f"{name} counts need the shape [bins], got {list(values.shape)}")
    if not (np.isfinite(values) & (values >= 0)).all():
        worst = values[~(np.isfinite(values) & (values >= 0))][0]
        raise ValueError(f"{name} counts are finite and at least 0, got {worst:g}")
    return values
