"""Estimators of sums over all units from the labels of some: Horvitz-Thompson, Hájek, and AIPW.

Units are drawn one by one (Poisson sampling) and have a label with probability e. Each estimator gives every unit a
pseudo-value whose expectation is its value, and the design variance of a sum with coefficients c is

    sum over labels of (1 - e) / e² (c x - b)²

with b = 0 (Horvitz & Thompson 1952), the stratum's mean of c x (Hájek 1971), or c m for a prediction m of x made
without the unit's own label (Robins, Rotnitzky & Zhao 1994). Labels that are certain (e = 1) add no variance.

The predictions of AIPW are monotone in uncertainty, or the caller's own. Each unit's prediction is made from the labels
of the other half of the units, so that the estimate stays unbiased for any quality of the prediction (cross-fitting:
Chernozhukov et al. 2018). The caller's own prediction is rescaled so that it adds no variance if it has no predictive
value (power tuning: Angelopoulos, Duchi & Zrnic 2023, "PPI++").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.estimation.window import Doubles

Estimator = Literal["ht", "hajek", "aipw"]
ESTIMATORS: tuple[Estimator, ...] = ("ht", "hajek", "aipw")
Cells = NDArray[np.intp]
_LEAST = 25  # least number of labels of a step, so that one large error does not predict its neighbours


@dataclass(frozen=True)
class Labels:
    """Records of labels by the cell of a ladder: one each, or sums over a bin. x is a unit's value."""

    cell: Cells
    """Cell of each record [L]."""
    weight: Doubles
    """Sum of 1 / e [L]; the other fields are likewise sums."""
    value: Doubles
    """x / e."""
    v0: Doubles
    """(1 - e) / e²."""
    v1: Doubles
    """(1 - e) / e² x."""
    v2: Doubles
    """(1 - e) / e² x²."""
    second: Doubles
    """x² / e, for the variance of a population."""
    fourth: Doubles
    """((1 - e) / e² x²)², for the degrees of freedom."""

    @staticmethod
    def of(cell: Cells, probability: Doubles, values: Doubles) -> Labels:
        """Make one record for each label.

        Args:
            cell: the unit's cell [L].
            probability: probability e that its label has arrived, in (0, 1] [L].
            values: x [L].
        """
        weight = 1.0 / probability
        v0 = (weight - 1.0) * weight
        v1 = v0 * values
        value, v2 = weight * values, v1 * values
        return Labels(cell, weight, value, v0, v1, v2, value * values, v2 * v2)

    def __len__(self) -> int:
        return len(self.cell)


@dataclass(frozen=True)
class Ratio:
    """Labels by stratum, which the variance of a ratio estimator needs besides the squares."""

    stratum: Cells
    """Stratum of each record [L]."""
    weight: Doubles
    value: Doubles
    v0: Doubles
    v1: Doubles


@dataclass(frozen=True)
class Estimated:
    """Estimated sums of a value by cell, and the records from which their variance is computed."""

    totals: Doubles
    """Sum of the pseudo-values of each cell [B]."""
    squares: Doubles
    """(1 - e) / e² times the squared value, or squared residual [L]."""
    labels: Labels
    """Labels before the estimator was applied."""
    ratio: Ratio | None = None

    @cached_property
    def total(self) -> float:
        return float(self.totals.sum())

    @cached_property
    def strata(self) -> int:
        return 1 if self.ratio is None else int(self.ratio.stratum.max(initial=0)) + 1

    def variance(self, coefficients: Doubles | float) -> float:
        """Return the design variance of the sum of coefficient [B] times value; a number applies to all cells."""
        c = self.at(coefficients)
        whole = float(np.sum(self.squares * c * c))
        if self.ratio is None:
            return whole
        parts = self.ratio
        mean = self._by_stratum(c * parts.value) / self._by_stratum(parts.weight)
        cross, zero = self._by_stratum(c * parts.v1), self._by_stratum(parts.v0)
        return max(whole + float(np.sum(mean * (mean * zero - 2 * cross))), 0.0)

    def tails(self, coefficients: Doubles | float) -> tuple[float, float]:
        """Return second and fourth moments of the same sum, which show how much of its variance few labels carry."""
        c = self.at(coefficients)
        square = c * c
        return float(np.sum(square * self.labels.v2)), float(np.sum(square * square * self.labels.fourth))

    def at(self, coefficients: Doubles | float) -> Doubles | float:
        """Return the coefficients of the records [L]."""
        return coefficients[self.labels.cell] if isinstance(coefficients, np.ndarray) else coefficients

    def step_moments(self, cell: Cells, inside: Doubles, upper: Doubles, lower: Doubles) -> tuple[Doubles, ...]:
        """Return variances and ``tails`` [K] of K sums whose coefficient is ``upper`` up to a step, ``lower`` beyond.

        Args:
            cell: cell in which each step ends [K].
            inside: share of that cell that lies before the step [K].
        """
        ends, back = np.unique(cell, return_inverse=True)
        own = self.labels.cell
        place = np.searchsorted(ends, own, side="left")
        # even buckets lie between the steps' cells, odd ones are these cells
        bucket = 2 * place + (ends[np.minimum(place, len(ends) - 1)] == own)
        width = 2 * len(ends) + 1
        weights = upper, lower + (upper - lower) * inside, lower

        def added(values: Doubles, power: int, strata: int = 1) -> Doubles:
            """Sum by stratum with a power of the coefficients [S, K]."""
            where = bucket if strata == 1 else bucket + width * self.ratio.stratum  # type: ignore[union-attr]
            sums = np.bincount(where, values, strata * width).reshape(strata, width)
            running = np.cumsum(sums, axis=1)
            before, within = running[:, :-1:2][:, back], sums[:, 1::2][:, back]
            parts = before, within, running[:, -1:] - before - within
            return np.asarray(sum(weight**power * part for weight, part in zip(weights, parts, strict=True)))

        variance = added(self.squares, 2)[0]
        if self.ratio is not None:
            number = self.strata
            zero, weight = self._by_stratum(self.ratio.v0)[:, None], self._by_stratum(self.ratio.weight)[:, None]
            mean = added(self.ratio.value, 1, number) / weight
            variance = variance + np.sum(mean * (mean * zero - 2 * added(self.ratio.v1, 1, number)), axis=0)
        return np.maximum(variance, 0.0), added(self.labels.v2, 2)[0], added(self.labels.fourth, 4)[0]

    def _by_stratum(self, values: Doubles) -> Doubles:
        return _by(self.ratio.stratum, values, self.strata)  # type: ignore[union-attr]


def horvitz_thompson(labels: Labels, cells: int) -> Estimated:
    """Estimate with weights 1 / e, exactly unbiased (Horvitz & Thompson 1952)."""
    return Estimated(_by(labels.cell, labels.value, cells), labels.v2, labels)


def hajek(labels: Labels, count: Doubles, strata: Cells) -> Estimated:
    """Estimate with weights 1 / e, scaled so that they add up to the number of units of each stratum (Hájek 1971).

    Args:
        count: units of each cell [B], of the plane (answered or deferred) that the labels belong to.
        strata: stratum of each cell [B]; each needs a label.
    """
    stratum = strata[labels.cell]
    number = int(strata.max(initial=0)) + 1
    units, weight = np.bincount(strata, count, number), np.bincount(stratum, labels.weight, number)
    scale = np.divide(units, weight, out=np.ones(number), where=weight > 0)[stratum]
    value, v0, v1 = scale * labels.value, scale**2 * labels.v0, scale**2 * labels.v1
    ratio = Ratio(stratum, scale * labels.weight, value, v0, v1)
    totals = _by(labels.cell, value, len(count))
    return Estimated(totals, scale**2 * labels.v2, labels, ratio)


def augmented(labels: Labels, predicted: Doubles, base: Doubles) -> Estimated:
    """Estimate by predictions plus weighted residuals: unbiased for predictions that do not use the unit's label.

    Args:
        predicted: m of each record's units [L].
        base: sum of m over the units of each cell [B], with or without labels.
    """
    residual = labels.value - predicted * labels.weight
    squares = labels.v2 - predicted * (2 * labels.v1 - predicted * labels.v0)
    totals = base + _by(labels.cell, residual, len(base))
    return Estimated(totals, np.maximum(squares, 0.0), labels)


def label_strata(cell: Cells, number: Doubles | None, cells: int, most: int = 8, least: int = 50) -> Cells:
    """Return the stratum of each cell [B]: neighbouring cells with about equal numbers of labels, none without.

    Args:
        cell: cell of each record, ascending [L].
        number: labels of each record [L]; None: one each.
        most: largest number of strata.
        least: smallest number of labels in a stratum, so that the ratio's bias, of order 1 / labels, stays small.
    """
    running = np.arange(1.0, len(cell) + 1) if number is None else np.cumsum(number)
    strata = min(int(running[-1] // least), most) if len(running) else 0
    if strata < 2:
        return np.zeros(cells, np.intp)
    shares = running[-1] * np.arange(1, strata) / strata
    cuts = np.unique(cell[np.searchsorted(running, shares, side="left")])
    cuts = cuts[cuts < cell[-1]]
    return np.searchsorted(cuts, np.arange(cells), side="left").astype(np.intp)


@dataclass(frozen=True)
class Steps:
    """Monotone step function of the cell."""

    last: Cells
    """Last cell of each step but the final one [S - 1]."""
    value: Doubles
    """Value of each step [S]."""

    def at(self, cell: Cells) -> Doubles:
        """Return the values at some cells [L]."""
        return np.asarray(self.value[np.searchsorted(self.last, cell, side="left")])

    def everywhere(self, cells: int) -> Doubles:
        """Return the values at the cells 0 to cells - 1 [cells]."""
        lengths = np.diff(self.last, prepend=-1, append=cells - 1)
        return np.repeat(self.value, lengths)


def monotone(
    cell: Cells, weight: Doubles, value: Doubles, *, number: Doubles | None = None, rising: bool = True
) -> Steps:
    """Fit an isotonic regression of a value on the cell (pool adjacent violators), in steps of at least 25 labels.

    Args:
        cell: ascending [L].
        weight: sum of 1 / e of each record [L].
        value: sum of x / e [L].
        number: labels of each record [L]; None: one each.
    """
    from scipy.optimize import isotonic_regression

    if not len(cell):
        return Steps(np.empty(0, np.intp), np.zeros(1))
    running = np.arange(1, len(cell) + 1) if number is None else np.cumsum(number)
    step = np.minimum((running - 1) // _LEAST, max(running[-1] // _LEAST - 1, 0))
    starts = np.flatnonzero(np.diff(step, prepend=-1))
    weights = np.add.reduceat(weight, starts)
    means = np.add.reduceat(value, starts) / weights
    fitted = np.asarray(isotonic_regression(means, weights=weights, increasing=rising).x)
    lasts = cell[np.append(starts[1:], len(cell)) - 1]
    keep = np.append(np.flatnonzero((np.diff(fitted) != 0) & (np.diff(lasts) > 0)), len(fitted) - 1)
    return Steps(lasts[keep[:-1]], fitted[keep])


def tuned(predicted: Doubles, values: Doubles, weight: Doubles) -> tuple[float, float]:
    """Return intercept and slope of the prediction with the smallest residual variance: weighted least squares [L].

    Args:
        weight: weight of each label's squared residual in the variance [L].
    """
    total = float(weight.sum())
    if not total > 0:
        return 0.0, 0.0
    x, y = float(weight @ predicted) / total, float(weight @ values) / total
    spread = float(weight @ (predicted - x) ** 2)
    if not spread > 1e-12 * total * max(x * x, 1e-300):
        return y, 0.0
    slope = float(weight @ ((predicted - x) * (values - y))) / spread
    return y - slope * x, slope


def halves(n: int) -> NDArray[np.bool_]:
    """Return the half of each of n units, by a hash of its index, which is independent of all measurements."""
    key = np.arange(n, dtype=np.uint64)  # splitmix64 (Steele, Lea & Flood 2014)
    key += np.uint64(0x9E3779B97F4A7C15)
    key ^= key >> np.uint64(30)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(27)
    key *= np.uint64(0x94D049BB133111EB)
    return (key >> np.uint64(63)).astype(bool)


def _by(cell: Cells, values: Doubles, cells: int) -> Doubles:
    """Sum values [L] by cell [B]."""
    return np.asarray(np.bincount(cell, values, cells), np.float64)
