"""Figures of a window with their intervals, from sums of estimated values along a ladder, for both modes.

In exact mode a cell is a unit (or a group of ties), in a sketch it is a bin; the rest is the same. The window's design
variance measures how well the drawn labels represent the others; the population's adds the variance between windows of
the same stream (influence functions; van der Vaart 1998, chapter 20).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from models.assessment.figures import Rules
from models.assessment.retention import rejection_ratio
from models.estimation.intervals import Band, Estimate, Scale, interval, limits, quantile, root
from models.estimation.ladder import Ladder, f_area, f_position, f_values, partial_sums
from models.estimation.references import Weighted, optimal_area
from models.estimation.weights import Cells, Estimated
from models.estimation.window import Doubles

Variance = Literal["window", "population"]


@dataclass(frozen=True)
class Sums:
    """Estimated values of the answered and of the deferred units along one ladder; None without labels."""

    ladder: Ladder
    answered: Estimated | None
    deferred: Estimated | None

    @property
    def parts(self) -> tuple[Estimated, ...]:
        return tuple(part for part in (self.answered, self.deferred) if part is not None)

    @cached_property
    def totals(self) -> Doubles:
        """Totals of all units by cell [B]; NaN if the answered or the deferred have units but no labels."""
        if self.answered is None or self.deferred is None:
            return np.full(len(self.ladder), np.nan)
        return np.asarray(self.answered.totals + self.deferred.totals)

    def variance(self, coefficients: Doubles | float) -> float:
        return sum(part.variance(coefficients) for part in self.parts)

    def t(self, coefficients: Doubles | float) -> float:
        """Return the quantile for the interval of a sum."""
        return _t(self.parts, coefficients)

    def step_moments(self, cell: Cells, inside: Doubles, upper: Doubles, lower: Doubles) -> tuple[Doubles, Doubles]:
        """Return the variances of K sums with a step, and the quantiles for their intervals [K]."""
        moments = np.zeros((3, len(cell)))
        for part in self.parts:
            moments += part.step_moments(cell, inside, upper, lower)
        return moments[0], quantile(moments[1], moments[2])

    def spread(self, coefficients: Doubles | float, shift: Doubles | float = 0.0) -> float:
        """Return the variance of a mean over windows: of ``N coefficient value - shift`` between units, over N."""
        n = self.ladder.n
        c = n * coefficients
        g = np.broadcast_to(np.asarray(shift, np.float64), len(self.ladder))
        second = sum(np.bincount(part.labels.cell, part.labels.second, len(self.ladder)) for part in self.parts)
        squares = float(np.sum(c * c * second - 2 * c * g * self.totals + g * g * self.ladder.count))
        mean = float(np.sum(c * self.totals - g * self.ladder.count)) / n
        return max(squares / n - mean * mean, 0.0) / n


def _t(parts: tuple[Estimated, ...], coefficients: Doubles | float) -> float:
    second, fourth = np.sum([part.tails(coefficients) for part in parts], axis=0) if parts else (0.0, 0.0)
    return float(quantile(np.array([second]), np.array([fourth]))[0])


@dataclass(frozen=True)
class View:
    """Sums that make up the figures of a window."""

    errors: Sums
    hits: Sums | None
    """Acceptable units, along a separate ladder, because conventions order ties differently. None without a limit."""
    human: Estimated | None
    """Errors of other people's answers for the deferred units; None counts them as 0."""
    answered: float
    """Number of units answered."""
    sampled: float
    """Number of labels that were drawn at random."""
    weighted: Weighted
    """Errors of labels and the numbers of units that they represent, for the optimal ranking."""
    rules: Rules
    scale: Scale = "positive"
    """Scale of the errors: ``real`` if some are negative."""

    @property
    def n(self) -> float:
        return self.errors.ladder.n


@dataclass(frozen=True)
class LiveFigures:
    """All figures of a window. Errors are in the error's unit; F1 figures are NaN without an acceptable limit."""

    n: int
    retention: float
    """Share of the units answered."""
    r_auc: Estimate
    f1_auc: Estimate
    f1_at_95: Estimate
    error: Estimate
    """Errors of the answered units, summed and divided by all n: the error-retention curve at the operating point."""
    answered_error: Estimate
    """Mean error of the answered units: selective risk."""
    mean_error: Estimate
    """Mean error of the model over all units."""
    system_error: Estimate
    """Mean error of all answers, by the model or, for a deferred unit, by a person."""
    r_auc_random: float
    r_auc_optimal: float
    prr: float
    f1_auc_random: float
    f1_auc_optimal: float


_NONE = Estimate(math.nan, math.nan, math.nan, math.nan)


def live_figures(view: View, variance: Variance = "window") -> LiveFigures:
    """Return the figures with 95 % intervals.

    Args:
        variance: ``window`` for these units, ``population`` for the stream from which they are drawn.
    """
    errors, n = view.errors, view.n
    wide = variance == "population"

    def error(value: float, value_variance: float, coefficients: Doubles | float) -> Estimate:
        return interval(value, root(value_variance), errors.t(coefficients), view.sampled, view.scale)

    totals = errors.totals
    weights = errors.ladder.area_coefficients(view.rules.area)
    mean, area = float(totals.sum()) / n, float(totals @ weights)
    spread = errors.variance(weights)
    if wide:
        spread += errors.spread(weights, (totals.sum() - np.cumsum(totals) + totals / 2) / n)
    mean_error = error(mean, errors.variance(1 / n) + (errors.spread(1 / n) if wide else 0.0), 1 / n)
    f1_auc, f1_at_95, random, optimal = _f_figures(view, wide)
    random_area, best = mean / 2, optimal_area(view.weighted, view.rules.area)
    at_point, of_answered, of_system = _at_the_point(view, wide)
    return LiveFigures(
        n=round(n),
        retention=view.answered / n,
        r_auc=error(area, spread, weights),
        f1_auc=f1_auc,
        f1_at_95=f1_at_95,
        error=at_point,
        answered_error=of_answered,
        mean_error=mean_error,
        system_error=of_system,
        r_auc_random=random_area,
        r_auc_optimal=best,
        prr=rejection_ratio(area, random_area, best),
        f1_auc_random=random,
        f1_auc_optimal=optimal,
    )


def _at_the_point(view: View, wide: bool) -> tuple[Estimate, Estimate, Estimate]:
    """Return the error at the operating point, of the answered units, and of the system."""
    n, part = view.n, view.errors.answered
    if part is None:
        return _NONE, _NONE, _NONE
    total, total_variance = part.total, part.variance(1.0)
    rest, rest_found, second = 0.0, 0.0, float(part.labels.second.sum())
    if view.human is not None:
        rest, rest_found = view.human.total, view.human.variance(1.0)
    share = view.answered
    spread_all = max(second - total**2 / n, 0.0) if wide else 0.0
    spread_own = max(second - total**2 / share, 0.0) if wide and share else 0.0
    spread_system = spread_all
    if wide and view.human is not None:
        spread_system = max(second + float(view.human.labels.second.sum()) - (total + rest) ** 2 / n, 0.0)

    t = _t((part,), 1.0)
    t_system = t if view.human is None else _t((part, view.human), 1.0)

    def made(value: float, variance: float, units: float, t: float = t) -> Estimate:
        if not units:
            return _NONE
        return interval(value / units, root(variance) / units, t, view.sampled, view.scale)

    return (
        made(total, total_variance + spread_all, n),
        made(total, total_variance + spread_own, share),
        made(total + rest, total_variance + rest_found + spread_system, n, t_system),
    )


def _f_figures(view: View, wide: bool) -> tuple[Estimate, Estimate, float, float]:
    """Return F1-AUC, F1@95, and F1-AUC of the random and of the optimal ranking."""
    if view.hits is None:
        return _NONE, _NONE, math.nan, math.nan
    hits, convention = view.hits, view.rules.convention
    ladder, totals, n = hits.ladder, hits.totals, hits.ladder.n
    area, weights = f_area(ladder, totals, convention)
    total = float(totals.sum())
    if math.isnan(area):
        return _NONE, _NONE, math.nan, math.nan
    area_variance = hits.variance(weights)
    if wide:
        flow = 2 * totals / (ladder.below + ladder.count / 2 + total)
        area_variance += hits.spread(weights, flow.sum() - np.cumsum(flow) + flow / 2)
    kept = np.array([f_position(n, 0.95, convention)])
    at, variances, t, step = _f_steps(hits, kept)
    if wide:
        cell, inside = step
        near = _near(totals, ladder, float(kept[0]))
        before = (np.arange(len(ladder)) < cell[0]) + (np.arange(len(ladder)) == cell[0]) * inside[0]
        bottom = kept[0] + total
        variances = variances + hits.spread((2 * before - at[0]) / bottom, 2 * near * n / bottom * before)
    references = Ladder(np.array([n])), Ladder(np.array([min(total, n), max(n - total, 0.0)]))
    random = f_area(references[0], np.array([total]), convention)[0]
    optimal = f_area(references[1], np.array([min(total, n), 0.0]), convention)[0]
    return (
        interval(area, root(area_variance), hits.t(weights), view.sampled, "share"),
        interval(float(at[0]), root(float(variances[0])), float(t[0]), view.sampled, "share"),
        random,
        optimal,
    )


def _near(totals: Doubles, ladder: Ladder, kept: float) -> float:
    """Return the mean value of the units within 1 % of all units around a number of retained ones."""
    ends = np.clip(np.array([kept - 0.01 * ladder.n, kept + 0.01 * ladder.n]), 0, ladder.n)
    low, high = partial_sums(totals, *ladder.steps(ends))
    return float((high - low) / max(ends[1] - ends[0], 1.0))


def _f_steps(hits: Sums, kept: Doubles) -> tuple[Doubles, Doubles, Doubles, tuple[Cells, Doubles]]:
    """Return F1 for numbers of retained units [K], its variances, quantiles for intervals, and ends of the steps."""
    step = hits.ladder.steps(kept)
    total = float(hits.totals.sum())
    value = f_values(partial_sums(hits.totals, *step), kept, total)
    bottom = kept + total
    return value, *hits.step_moments(*step, (2 - value) / bottom, -value / bottom), step


def error_band(view: View, kept: Doubles) -> Band:
    """Return the error-retention curve at numbers of retained units [K]."""
    step = view.errors.ladder.steps(kept)
    n, ones = view.n, np.full(len(kept), 1 / view.n)
    value = partial_sums(view.errors.totals, *step) / n
    return _band(view, kept, value, *view.errors.step_moments(*step, ones, np.zeros(len(kept))), view.scale)


def f_band(view: View, kept: Doubles) -> Band | None:
    """Return the F1-retention curve at numbers of retained units [K]; None without a limit."""
    if view.hits is None:
        return None
    value, variances, t, _ = _f_steps(view.hits, kept)
    return _band(view, kept, value, variances, t, "share")


def curves(view: View, points: int = 101) -> tuple[Band, Band | None]:
    """Return error- and F1-retention curves at evenly spaced retentions from 0 to 1."""
    share = np.linspace(0, 1, points)
    axis = np.array([f_position(view.n, float(retention), view.rules.convention) for retention in share])
    return error_band(view, share * view.n), f_band(view, axis)


@dataclass(frozen=True)
class WhatIf:
    """Figures at other thresholds [K], from the same log."""

    threshold: Doubles
    retention: Doubles
    error: Band
    answered_error: Band
    f1: Band | None


def what_if(view: View, thresholds: Doubles, kept: Doubles) -> WhatIf:
    """Return the figures as if units had been answered up to each threshold.

    Args:
        thresholds: [K].
        kept: units whose uncertainty is at most the threshold [K].
    """
    error = error_band(view, kept)
    with np.errstate(all="ignore"):
        scale = np.where(kept > 0, view.n / kept, np.nan)
    own = Band(error.retention, *(scale * part for part in (error.estimate, error.se, error.low, error.high)))
    return WhatIf(thresholds, kept / view.n, error, own, f_band(view, kept))


def _band(view: View, kept: Doubles, value: Doubles, variances: Doubles, t: Doubles, scale: Scale) -> Band:
    se = np.sqrt(np.maximum(variances, 0.0))
    return Band(kept / view.n, value, se, *limits(value, t * se, view.sampled, scale))
