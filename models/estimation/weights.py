"""Estimators of sums over all units from the labels of some: Horvitz-Thompson, Hájek, and AIPW.

Units are drawn one by one (Poisson sampling) and have a label with probability e. Each estimator gives every unit a
pseudo-value whose expectation is its value, and the design variance of a sum with coefficients c is

    sum over labels of (1 - e) / e² (c x - b)²

with b = 0 (Horvitz & Thompson 1952), the stratum's mean of c x (Hájek 1971), or c m for a prediction m of x made
without the unit's own label (Robins, Rotnitzky & Zhao 1994). Labels that are certain (e = 1) add no variance.
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


@dataclass(frozen=True)
class Labels:
    """Labels by the cell of a ladder: one each, or sums over those of a bin. x is a unit's value."""

    cell: Cells
    """[L]."""
    weight: Doubles
    """Sum of 1 / e [L]; so are the others of what they name."""
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
        """One record a label.

        Args:
            cell: the unit's cell [L].
            probability: that its label is there, e, in (0, 1] [L].
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
    """What the variance of a ratio estimator needs beside the squares: labels by stratum."""

    stratum: Cells
    """[L]."""
    weight: Doubles
    value: Doubles
    v0: Doubles
    v1: Doubles


@dataclass(frozen=True)
class Estimated:
    """Estimated sums of a value by cell, and the records that their variance is made of."""

    totals: Doubles
    """Sum of the pseudo-values of each cell [B]."""
    squares: Doubles
    """(1 - e) / e² times the squared value, or squared residual [L]."""
    labels: Labels
    """As they were before the estimator."""
    ratio: Ratio | None = None

    @cached_property
    def total(self) -> float:
        return float(self.totals.sum())

    @cached_property
    def strata(self) -> int:
        return 1 if self.ratio is None else int(self.ratio.stratum.max(initial=0)) + 1

    def variance(self, coefficients: Doubles | float) -> float:
        """Design variance of the sum of coefficient [B] times value; one number stands for all cells."""
        c = self.at(coefficients)
        whole = float(np.sum(self.squares * c * c))
        if self.ratio is None:
            return whole
        parts = self.ratio
        mean = self._by_stratum(c * parts.value) / self._by_stratum(parts.weight)
        cross, zero = self._by_stratum(c * parts.v1), self._by_stratum(parts.v0)
        return max(whole + float(np.sum(mean * (mean * zero - 2 * cross))), 0.0)

    def tails(self, coefficients: Doubles | float) -> tuple[float, float]:
        """Sums of second and of fourth moments of the same sum: how much of its variance rests on a few labels."""
        c = self.at(coefficients)
        square = c * c
        return float(np.sum(square * self.labels.v2)), float(np.sum(square * square * self.labels.fourth))

    def at(self, coefficients: Doubles | float) -> Doubles | float:
        """Coefficients of the records [L]."""
        return coefficients[self.labels.cell] if isinstance(coefficients, np.ndarray) else coefficients

    def step_moments(self, cell: Cells, inside: Doubles, upper: Doubles, lower: Doubles) -> tuple[Doubles, ...]:
        """Variances and ``tails`` [K] of K sums whose coefficient is ``upper`` up to a step, ``lower`` beyond.

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
            """Sums by stratum with a power of the coefficients [S, K]."""
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
    """Weights 1 / e, exactly unbiased (Horvitz & Thompson 1952)."""
    return Estimated(_by(labels.cell, labels.value, cells), labels.v2, labels)


def hajek(labels: Labels, count: Doubles, strata: Cells) -> Estimated:
    """Weights 1 / e scaled so that they add up to the number of units of each stratum (Hájek 1971).

    Args:
        count: units of each cell [B], of the plane (answered or deferred) that the labels are of.
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
    """The prediction of every unit plus the weighted residuals: unbiased for any prediction made without the label.

    Args:
        predicted: m of each record's units [L].
        base: sum of m over the units of each cell [B], with or without labels.
    """
    residual = labels.value - predicted * labels.weight
    squares = labels.v2 - predicted * (2 * labels.v1 - predicted * labels.v0)
    totals = base + _by(labels.cell, residual, len(base))
    return Estimated(totals, np.maximum(squares, 0.0), labels)


def label_strata(cell: Cells, number: Doubles | None, cells: int, most: int = 8, least: int = 50) -> Cells:
    """Neighbouring cells with about equal numbers of labels: the stratum of each cell [B]; every stratum has labels.

    Args:
        cell: cell of each record, ascending [L].
        number: labels of each record [L]; None: one each.
        most: strata at most.
        least: labels of a stratum at least, so that the ratio's bias, of order 1 / labels, stays small.
    """
    running = np.arange(1.0, len(cell) + 1) if number is None else np.cumsum(number)
    strata = min(int(running[-1] // least), most) if len(running) else 0
    if strata < 2:
        return np.zeros(cells, np.intp)
    shares = running[-1] * np.arange(1, strata) / strata
    cuts = np.unique(cell[np.searchsorted(running, shares, side="left")])
    cuts = cuts[cuts < cell[-1]]
    return np.searchsorted(cuts, np.arange(cells), side="left").astype(np.intp)


def _by(cell: Cells, values: Doubles, cells: int) -> Doubles:
    """Sums of values [L] by cell [B]."""
    return np.asarray(np.bincount(cell, values, cells), np.float64)
