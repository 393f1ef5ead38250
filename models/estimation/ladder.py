"""Ladder: cells of units in the order of uncertainty, and the coefficients of their values in figures.

A cell is one unit, a group of ties, or a bin of a sketch: the order inside a cell is unknown, so its units
share their values. Every error figure is a sum over units of coefficient times value; an F figure is a ratio of such
sums, which is linearised for its variance (Shifts 1.0, appendix A; Traub et al. 2024 for the areas).

With c units in the cells before, n in the cell and N in all, the error-retention curve's area has the coefficient
``(N + 1/2 - c - n / 2) / (N (N + 1))`` as the mean of its N + 1 points and ``(N - c - n / 2) / N²`` as a trapezoid.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from models.assessment.convention import Area, Convention
from models.estimation.window import Doubles

_EPSILON = 1e-10  # in the denominator of the released F


@dataclass(frozen=True)
class Ladder:
    """Cells from most to least certain."""

    count: Doubles
    """Number of units of each cell, with or without labels [B]."""
    flat: bool = False
    """True if every cell is one unit, which saves work."""

    def __len__(self) -> int:
        return len(self.count)

    @cached_property
    def n(self) -> float:
        """Number of all units."""
        return float(len(self.count) if self.flat else self.count.sum())

    @cached_property
    def below(self) -> Doubles:
        """Number of units in the cells before each [B]."""
        if self.flat:
            return np.arange(len(self.count), dtype=np.float64)
        below = np.cumsum(self.count)
        below -= self.count
        return below

    def area_coefficients(self, area: Area) -> Doubles:
        """Return the derivative of R-AUC by the value of a unit in each cell [B]."""
        n = self.n
        middle = self.below + self.count / 2
        if area == "mean":
            return np.asarray((n + 0.5 - middle) / (n * (n + 1)))
        return np.asarray((n - middle) / n**2)

    def steps(self, kept: Doubles) -> tuple[NDArray[np.intp], Doubles]:
        """Return the cell in which each number of retained units ends [K], and the retained share of that cell [K]."""
        if self.flat:
            cell = np.clip(np.ceil(kept).astype(np.intp) - 1, 0, len(self) - 1)
            return cell, np.clip(kept - cell, 0.0, 1.0)
        ends = self.below + self.count
        cell = np.minimum(np.searchsorted(ends, kept, side="left"), len(self) - 1)
        size = self.count[cell]
        inside = np.divide(kept - self.below[cell], size, out=np.zeros(len(kept)), where=size > 0)
        return cell, np.clip(inside, 0.0, 1.0)

    def harmonic(self, shift: float) -> Doubles:
        """Return the sum of 1 / (k + shift) over the units k of each cell [B], counted from 1."""
        if self.flat:
            return np.asarray(1.0 / (self.below + (1.0 + shift)))
        total = np.empty(len(self))
        single = self.count == 1
        total[single] = 1.0 / (self.below[single] + (1.0 + shift))
        first = self.below[~single] + (1.0 + shift)
        total[~single] = digamma(first + self.count[~single]) - digamma(first)
        return total


def partial_sums(totals: Doubles, cell: NDArray[np.intp], inside: Doubles) -> Doubles:
    """Return the sums of the cells' totals up to the ends of steps [K]."""
    running = np.cumsum(totals)
    return np.asarray(running[cell] - (1.0 - inside) * totals[cell])


def f_values(hits: Doubles, kept: Doubles, total: float) -> Doubles:
    """Return F1 of ``hits`` acceptable among ``kept`` retained units, with ``total`` acceptable in all [K].

    NaN without acceptable units. Linear in the hits, so that an unbiased estimate of them stays unbiased: the released
    code's small term in the denominator enters in first order.
    """
    if not total > 0:
        return np.full(len(hits), np.nan)
    bottom = kept + total
    return np.asarray((2 * hits - (hits > 0) * (2 * _EPSILON * total) * kept / bottom) / bottom)


def f_area(ladder: Ladder, hits: Doubles, convention: Convention) -> tuple[float, Doubles]:
    """Return the area under the F1 curve, and its derivative by the acceptability of a unit in each cell [B].

    Args:
        hits: acceptable units of each cell [B], as estimated.

    A further acceptable unit adds 2 / (k + A) to each later point, and all points lose 2 hits / (k + A)².
    """
    n, total = ladder.n, float(hits.sum())
    if not total > 0:
        return math.nan, np.full(len(ladder), np.nan)
    steps = n if convention.f_axis_to_one else n + 1
    harmonic = ladder.harmonic(total)
    area, slope, loss = (_unit_sums if ladder.flat else _cell_sums)(ladder, hits, total, harmonic)
    last, end = 2 * total / (n + total), n / (n + total) ** 2  # the last point counts half; and its derivative
    slope -= loss + end
    slope /= steps
    return (area - last / 2) / steps, slope


def _unit_sums(ladder: Ladder, hits: Doubles, total: float, harmonic: Doubles) -> tuple[float, Doubles, float]:
    """Return the sum of F over all k; the gain of later points by a unit in each cell [B]; the loss of all points."""
    running = np.cumsum(hits)
    known = int(np.argmax(running > 0))
    rest = harmonic[known:]
    small = _EPSILON * total * (float(rest.sum()) - total * float(rest @ rest))
    area = 2 * (float(running @ harmonic) - small)
    running *= harmonic
    loss = 2 * float(running @ harmonic)
    gain = np.cumsum(harmonic[::-1])[::-1]
    gain *= 2
    return area, gain, loss


def _cell_sums(ladder: Ladder, hits: Doubles, total: float, harmonic: Doubles) -> tuple[float, Doubles, float]:
    """Return the sums of ``_unit_sums`` if the units of a cell share their acceptability."""
    count, shifted = ladder.count, ladder.below + total
    before = np.cumsum(hits)
    known = before > 0
    before -= hits
    share = np.divide(hits, count, out=np.zeros(len(ladder)), where=count > 0)
    # 2 (before + share j) / (shifted + j) over j = 1..count; then the released code's small term
    offset = before - share * shifted
    middle = ladder.below + (count + 1) / 2
    small = _EPSILON * total * float((count * middle / (middle + total) ** 2) @ known)
    area = 2 * (float(hits.sum()) + float(offset @ harmonic) - small)
    first, last = shifted + 0.5, shifted + count + 0.5
    square = 1 / first - 1 / last - (1 / first**3 - 1 / last**3) / 12  # sum of 1 / (shifted + j)² (Euler & Maclaurin)
    loss = 2 * float(share @ harmonic + offset @ square)
    gain = np.divide(2 * (count - shifted * harmonic), count, out=np.zeros(len(ladder)), where=count > 0)
    after = np.cumsum(harmonic)
    return area, gain + 2 * (after[-1] - after), loss


def f_position(n: float, retention: float, convention: Convention) -> float:
    """Return the number of retained units at a retention, as ``models.assessment.retention.f_at`` counts them."""
    if convention.f_axis_to_one:
        return min(math.floor(retention * n + 1e-9), n)
    return min(int(retention * (n + 1)), n)
