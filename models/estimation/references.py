"""Retention curves of a random and of the optimal ranking of a window, from weighted labels."""

from collections.abc import Iterable

import numpy as np

from models.assessment.convention import Area
from models.estimation.intervals import Band
from models.estimation.ladder import Ladder, f_values, partial_sums
from models.estimation.window import Doubles

Weighted = tuple[Doubles, Doubles]
"""Errors of labels, or mean errors of bins of errors [L], and the number of units that each represents [L]."""


def weighted_errors(planes: Iterable[tuple[float, Doubles, Doubles]]) -> Weighted:
    """Scale weights so that labels of answered units represent all answered units, and deferred ones likewise."""
    errors, units = [np.empty(0)], [np.empty(0)]
    for count, values, weights in planes:
        there = weights > 0
        if there.any():
            errors.append(values[there])
            units.append((weights * (count / weights.sum()))[there])
        elif count:
            return np.empty(0), np.empty(0)
    return np.concatenate(errors), np.concatenate(units)


def optimal_area(weighted: Weighted, area: Area) -> float:
    """Return R-AUC of a ranking by the errors themselves; NaN without labels."""
    errors, units = weighted
    if not len(errors):
        return float("nan")
    order = np.argsort(errors, kind="stable")
    ladder = Ladder(units[order])
    return float((errors[order] * ladder.count) @ ladder.area_coefficients(area))


def error_references(weighted: Weighted, band: Band) -> tuple[Doubles, Doubles]:
    """Return error-retention curves of a random and of the optimal ranking at the retentions of a band [K]."""
    mean = band.estimate[-1]
    errors, units = weighted
    if not len(errors):
        return mean * band.retention, np.full(len(band.retention), np.nan)
    order = np.argsort(errors, kind="stable")
    ladder = Ladder(units[order])
    best = partial_sums(errors[order] * ladder.count, *ladder.steps(band.retention * ladder.n)) / ladder.n
    return mean * band.retention, best


def f_references(total: float, n: float, band: Band) -> tuple[Doubles, Doubles]:
    """Return F1-retention curves of a random and of the optimal ranking at the retentions of a band [K].

    Args:
        total: estimated number of acceptable units among all ``n``.
    """
    kept = band.retention * n
    return f_values(total * band.retention, kept, total), f_values(np.minimum(kept, total), kept, total)
