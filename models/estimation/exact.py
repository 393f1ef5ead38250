"""Exact mode: estimates from every unit of a window, with one sort for all figures and estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.figures import Rules
from models.assessment.ranking import Ranking, ranking, reverse_ties
from models.estimation.edges import single
from models.estimation.figures import Sums, View, WhatIf, what_if
from models.estimation.ladder import Ladder
from models.estimation.references import Weighted, weighted_errors
from models.estimation.weights import (
    Cells,
    Estimated,
    Estimator,
    Labels,
    augmented,
    hajek,
    halves,
    horvitz_thompson,
    label_strata,
    monotone,
    tuned,
)
from models.estimation.window import BadWindow, Doubles, Mask, Window


@dataclass(frozen=True)
class Exact:
    """Window sorted by uncertainty.

    Raises:
        ValueError: no units, or an acceptable limit that is NaN.
    """

    window: Window
    acceptable: float | None = None
    """Largest acceptable error, in its unit (``rules`` determine if the limit itself is acceptable)."""
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        if not len(self.window):
            raise BadWindow("the window has no units; at least one is needed")
        if self.acceptable is not None and np.isnan(self.acceptable):
            raise BadWindow("acceptable is NaN; a limit in the error's unit is needed")

    @cached_property
    def ranks(self) -> Ranking:
        return ranking(self.window.uncertainty)

    @cached_property
    def _usable(self) -> Mask:
        return self.window.usable

    @cached_property
    def sampled(self) -> int:
        """Number of labels that were drawn at random."""
        return int((self._usable & (self.window.effective < 1)).sum())

    @cached_property
    def _error_order(self) -> _Order:
        return _order(self, self.ranks.order, shared=self.rules.groups_ties)

    @cached_property
    def _hit_order(self) -> _Order:
        shared = self.rules.convention.f_ties_share
        if self.ranks.follows is None or (shared and self.rules.groups_ties):
            return self._error_order
        order = self.ranks.order if shared else reverse_ties(self.ranks.order, self.ranks)
        return _order(self, order, shared=shared)

    @cached_property
    def _acceptable(self) -> Mask:
        """Mask of the units with an acceptable error [N]; false without a label."""
        error, limit = self.window.error, self.acceptable
        if limit is None:
            return np.zeros(len(error), bool)
        with np.errstate(invalid="ignore"):
            return error < limit if self.rules.convention.strict_limit else error <= limit

    @cached_property
    def coefficients(self) -> Doubles:
        """Coefficient of each unit's error in R-AUC [N]."""
        order = self._error_order
        values = np.empty(len(self.window))
        values[order.order] = order.of_places(order.ladder.area_coefficients(self.rules.area))
        return values

    def view(self, estimator: Estimator = "aipw") -> View:
        """Return the sums that make up the figures, by one estimator."""
        window = self.window
        errors = self._sums(self._error_order, window.error, estimator, rising=True)
        hits = None
        if self.acceptable is not None:
            hits = self._sums(self._hit_order, self._acceptable.astype(np.float64), estimator, rising=False)
        return View(
            errors=errors,
            hits=hits,
            human=self._human(),
            answered=float(window.answered.sum()),
            sampled=self.sampled,
            weighted=self._weighted_errors,
            rules=self.rules,
            scale="positive" if (window.error[self._usable] >= 0).all() else "real",
        )

    def what_if(self, thresholds: Sequence[float] | Doubles, estimator: Estimator = "aipw") -> WhatIf:
        """Return the figures at other thresholds, compared as a policy does (float32)."""
        limits = np.asarray(thresholds, np.float64)
        scores = single(self.window.uncertainty[self.ranks.order])
        known = len(scores) - int(np.isnan(scores).sum())
        kept = np.searchsorted(scores[:known], single(limits), side="right").astype(np.float64)
        return what_if(self.view(estimator), limits, kept)

    @cached_property
    def _weighted_errors(self) -> Weighted:
        window = self.window
        planes = [(int(plane.sum()), self._usable & plane) for plane in (window.answered, ~window.answered)]
        return weighted_errors((count, window.error[held], 1 / window.effective[held]) for count, held in planes)

    @cached_property
    def _expected(self) -> Doubles | None:
        """Error that the caller predicted [N], with the mean for missing values; None without predictions."""
        expected = self.window.expected
        if expected is None or not (known := np.isfinite(expected)).any():
            return None
        return np.where(known, expected, expected[known].mean())

    def _human(self) -> Estimated | None:
        window = self.window
        if window.human_error is None:
            return None
        chosen = self._usable & ~window.answered & np.isfinite(window.human_error)
        places = np.zeros(int(chosen.sum()), np.intp)
        return horvitz_thompson(Labels.of(places, window.effective[chosen], window.human_error[chosen]), 1)

    def _sums(self, order: _Order, values: Doubles, estimator: Estimator, *, rising: bool) -> Sums:
        predicted = None
        if estimator == "aipw" and self.sampled:
            predicted = self._predicted(order, values, rising=rising)
        return Sums(
            order.ladder,
            self._plane(order, values, estimator, predicted, answered=True),
            self._plane(order, values, estimator, predicted, answered=False),
        )

    def _plane(
        self, order: _Order, values: Doubles, estimator: Estimator, predicted: Doubles | None, *, answered: bool
    ) -> Estimated | None:
        """Return estimated sums of the answered or of the deferred units; None without labels."""
        plane = order.answered if answered else ~order.answered
        own = order.answered[order.places] == answered
        places, unit = order.places[own], order.units[own]
        cells = len(order.ladder)
        if not len(unit) and plane.any():
            return None
        labels = Labels.of(order.cells(places), self.window.effective[unit], values[unit])
        if estimator == "ht" or (estimator == "aipw" and predicted is None) or not len(unit):
            return horvitz_thompson(labels, cells)
        if predicted is not None:
            return augmented(labels, predicted[places], order.by_cell(np.where(plane, predicted, 0.0)))
        return hajek(labels, order.by_cell(plane.astype(np.float64)), label_strata(labels.cell, None, cells))

    def _predicted(self, order: _Order, values: Doubles, *, rising: bool) -> Doubles:
        """Predict the value of the unit at each place [N] from the labels of the other half of the units."""
        half = halves(len(self.window))
        of_place, of_label = half[order.order], half[order.units]
        x, e = values[order.units], self.window.effective[order.units]
        expected = self._expected if rising else None
        predicted = np.empty(len(half))
        for side in (False, True):
            learn = of_label != side
            if expected is not None:
                unit, place = order.units[learn], order.places[learn]
                share = (1 - e[learn]) / e[learn] ** 2 * (1 - place / len(half)) ** 2
                intercept, slope = tuned(expected[unit], x[learn], share)
                values_at = intercept + slope * expected[order.order]
            else:
                steps = monotone(order.places[learn], 1 / e[learn], x[learn] / e[learn], rising=rising)
                values_at = steps.everywhere(len(half))
            np.copyto(predicted, values_at, where=of_place == side)
        return predicted


@dataclass(frozen=True)
class _Order:
    """Order of the units; places are positions in it."""

    order: NDArray[np.integer[Any]]
    """Unit at each place [N]."""
    answered: Mask
    """Mask of the places whose unit was answered [N]."""
    places: Cells
    """Places with a usable label, ascending [L]."""
    units: NDArray[np.integer[Any]]
    """Units at these places [L]."""
    ladder: Ladder
    cell: Cells | None
    """Cell of each place [N]; None if each place is its own cell."""

    def cells(self, places: Cells) -> Cells:
        return places if self.cell is None else self.cell[places]

    def of_places(self, values: Doubles) -> Doubles:
        """Return the value of each place's cell [N], from values of cells [B]."""
        return values if self.cell is None else values[self.cell]

    def by_cell(self, values: Doubles) -> Doubles:
        """Sum values of places [N] by cell [B]."""
        return values if self.cell is None else np.asarray(np.bincount(self.cell, values, len(self.ladder)), np.float64)


def _order(exact: Exact, order: NDArray[np.integer[Any]], *, shared: bool) -> _Order:
    places = np.flatnonzero(exact._usable[order])
    cell, ladder = None, Ladder(np.ones(len(order)), flat=True)
    if shared and exact.ranks.follows is not None:
        cell = np.cumsum(~exact.ranks.follows) - 1
        ladder = Ladder(np.bincount(cell).astype(np.float64))
    return _Order(order, exact.window.answered[order], places, order[places], ladder, cell)
