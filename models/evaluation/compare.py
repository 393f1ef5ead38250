"""Comparison of files: differences of their figures with paired-bootstrap intervals.

Units are resampled together for all files, so that their common difficulty cancels out. Figures are computed on the
resampled units' multiplicities over rankings computed once: O(n) per resample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import Area
from models.assessment.figures import Rules
from models.assessment.ranking import Ranking, ranking, reverse_ties
from models.assessment.retention import acceptable_units, f_at, f_auc, f_of_hits, rejection_ratio
from models.evaluation.unit_errors import BadFile, UnitErrors

FIGURES = ("error", "r_auc", "prr", "f1_auc", "f1_at_95", "roc_auc", "augrc")
"""Figures that are compared; those that do not exist for the data are left out."""
LEVEL = 0.95
MOST_DRAWS = 400_000_000
"""Limit of all units drawn: with more than 400,000 units there are fewer than 1000 resamples."""
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Interval:
    """Difference (this file minus the reference) and its percentile interval, in the figure's unit."""

    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Comparison of all files with the first."""

    reference: str
    level: float
    resamples: int
    differences: dict[str, dict[str, Interval]]
    """Difference from the reference, by file and figure."""

    def document(self) -> dict[str, Any]:
        return {
            "reference": self.reference,
            "level": self.level,
            "resamples": self.resamples,
            "differences": {
                name: {
                    figure: [interval.difference, interval.low, interval.high] for figure, interval in figures.items()
                }
                for name, figures in self.differences.items()
            },
        }


def compare(files: Sequence[UnitErrors], progress: Progress | None = None, seed: int = 0) -> Comparison:
    """Return the differences of the headline figures of all files from those of the first.

    Copies of a unit are ties; they rank where the file's unit ranks among its ties.

    Raises:
        BadFile: files that are not about the same units.
    """
    for other in files[1:]:
        same_units(files[0], other)
    n = len(files[0])
    resamples = int(np.clip(MOST_DRAWS // n, 100, 1000))
    prepared = [_Prepared.of(judged) for judged in files]
    whole = [units.figures(np.ones(n, np.int64)) for units in prepared]
    names = [name for name in FIGURES if all(math.isfinite(figures.get(name, math.nan)) for figures in whole)]
    rng = np.random.default_rng(seed)
    drawn = np.empty((resamples, len(files), len(names)))
    for turn in range(resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        for number, candidate in enumerate(prepared):
            resampled = candidate.figures(counts)
            drawn[turn, number] = [resampled[name] for name in names]
        if progress is not None:
            progress((turn + 1) / resamples)
    differences = {
        files[number].source: {
            name: _interval(whole[number][name] - whole[0][name], drawn[:, number, place] - drawn[:, 0, place])
            for place, name in enumerate(names)
        }
        for number in range(1, len(files))
    }
    return Comparison(files[0].source, LEVEL, resamples, differences)


def _interval(difference: float, drawn: NDArray[np.float64]) -> Interval:
    """Return percentiles of the resamples in which the figure exists (small ones may hold no acceptable unit)."""
    exist = drawn[np.isfinite(drawn)]
    if not len(exist):
        return Interval(difference, math.nan, math.nan)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(exist, (tail, 1 - tail))
    return Interval(difference, float(low), float(high))


def same_units(first: UnitErrors, other: UnitErrors) -> None:
    """Check that two files can be compared row by row.

    Raises:
        BadFile: other numbers of units, labels, domains or errors, as far as the files have them.
    """
    if len(first) != len(other):
        counts = f"{first.source} has {len(first)} units, {other.source} has {len(other)}"
        raise BadFile(f"{counts}: only predictions for the same units can be compared")
    if first.labels is not None and other.labels is not None and first.labels != other.labels:
        raise BadFile(f"{first.source} and {other.source} hold different labels: their units are not the same")
    ours, theirs = (np.zeros(0, bool) if judged.shifted is None else judged.shifted for judged in (first, other))
    if not np.array_equal(ours, theirs):
        raise BadFile(f"{first.source} and {other.source} disagree on which units are shifted")
    if first.error_name != other.error_name:
        raise BadFile(f"{first.source} is judged by {first.error_name}, {other.source} by {other.error_name}")


@dataclass(frozen=True)
class _Prepared:
    """One file in the order of its ranks, prepared for resamples."""

    ranks: Ranking
    starts: NDArray[np.intp] | None
    """First rank of each group of ties; None if all ranks are distinct."""
    ranked: NDArray[np.float64]
    by_error: NDArray[np.intp]
    by_error_ranked: NDArray[np.float64]
    good_order: NDArray[np.integer[Any]]
    """Units in the order in which F retains them."""
    good: NDArray[np.bool_] | None
    """Mask of the acceptable units in that order."""
    shifted: NDArray[np.bool_] | None
    rules: Rules

    @classmethod
    def of(cls, judged: UnitErrors) -> _Prepared:
        ranks = ranking(judged.uncertainty)
        column = judged.error
        values = np.asarray(column.values, np.float64)
        by_error = np.argsort(values, kind="stable")
        good = None
        shares = judged.rules.convention.f_ties_share
        good_order = ranks.order if shares else reverse_ties(ranks.order, ranks)
        if column.acceptable is not None:
            good = acceptable_units(values, column.acceptable, judged.rules.convention)[good_order]
        both = judged.shifted is not None and bool(judged.shifted.any()) and not bool(judged.shifted.all())
        return cls(
            ranks=ranks,
            starts=None if ranks.follows is None else np.flatnonzero(~ranks.follows),
            ranked=values[ranks.order],
            by_error=by_error,
            by_error_ranked=values[by_error],
            good_order=good_order,
            good=good,
            shifted=judged.shifted[ranks.order] if both and judged.shifted is not None else None,
            rules=judged.rules,
        )

    def figures(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Return the figures of the sample with these multiplicities of units, in O(n)."""
        n = len(counts)
        weights = counts[self.ranks.order]
        sums, sizes = self._by_group(self.ranked * weights), self._by_group(weights)
        mean = float(sums.sum()) / n
        area = _area(sums, sizes, n, self.rules.area)
        if not self.rules.groups_ties:
            area = _area(self.ranked * weights, weights, n, self.rules.area)
        often = counts[self.by_error]
        optimal = _area(self.by_error_ranked * often, often, n, self.rules.area)
        values = {
            "error": mean,
            "r_auc": area,
            "prr": rejection_ratio(area, mean / 2, optimal),
            "augrc": _area(sums, sizes, n, "trapezoid"),
        }
        if self.good is not None:
            values |= self._f_figures(counts[self.good_order])
        if self.shifted is not None:
            positive = self._by_group(weights * self.shifted)
            negative = sizes - positive
            below = np.cumsum(negative) - negative / 2
            pairs = float(positive.sum()) * float(negative.sum())
            values["roc_auc"] = float(positive @ below) / pairs if pairs else math.nan
        return values

    def _f_figures(self, weights: NDArray[np.int64]) -> dict[str, float]:
        assert self.good is not None
        convention = self.rules.convention
        hits = weights * self.good
        if convention.f_ties_share:
            hits, weights = self._by_group(hits), self._by_group(weights)
        curve = np.zeros(int(weights.sum()) + 1)
        curve[1:] = np.repeat(hits / np.maximum(weights, 1), weights)
        curve = f_of_hits(curve, int(hits.sum()))
        return {"f1_auc": f_auc(curve, convention), "f1_at_95": f_at(curve, convention=convention)}

    def _by_group(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.starts is None else np.add.reduceat(values, self.starts)


def _area(sums: NDArray[Any], sizes: NDArray[Any], n: int, area: Area) -> float:
    """Return R-AUC of groups in rank order by their sums of errors and sizes; an error counts at every later rank."""
    before = np.cumsum(sizes) - sizes / 2
    if area == "mean":
        return float(sums @ (n + 0.5 - before)) / n / (n + 1)
    return float(sums @ (n - before)) / n / n
