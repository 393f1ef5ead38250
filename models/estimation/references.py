"""What a ranking that says nothing, and a perfect one, would give along the retention curves of a window."""

from __future__ import annotations

import numpy as np

from models.estimation.figures import View
from models.estimation.intervals import Band
from models.estimation.ladder import Ladder, f_values, partial_sums
from models.estimation.sketch import Sketch
from models.estimation.window import Doubles, Window


def weighted_errors(held: Window | Sketch) -> tuple[Doubles, Doubles]:
    """Errors of labels, or mean errors of bins of errors [L], and the units that each stands for [L].

    The labels of the answered stand for the answered units, those of the deferred for the deferred ones. Nothing where
    one of them has units but no labels.
    """
    if isinstance(held, Sketch):
        there = [weight > 0 for weight in held.sizes[0]]
        units = held.units.sum(axis=1).astype(np.float64)
        parts = [
            (value[chosen] / weight[chosen], weight[chosen])
            for chosen, weight, value in zip(there, *held.sizes, strict=True)
        ]
    else:
        units = np.array([held.answered.sum(), (~held.answered).sum()], np.float64)
        usable, effective = held.usable, held.effective
        planes = (usable & held.answered, usable & ~held.answered)
        parts = [(held.error[chosen], 1 / effective[chosen]) for chosen in planes]
    if any(count and not len(errors) for count, (errors, _) in zip(units, parts, strict=True)):
        return np.empty(0), np.empty(0)
    held_parts = [(count, *part) for count, part in zip(units, parts, strict=True) if len(part[0])]
    if not held_parts:
        return np.empty(0), np.empty(0)
    return (
        np.concatenate([errors for _, errors, _ in held_parts]),
        np.concatenate([weights * (count / weights.sum()) for count, _, weights in held_parts]),
    )


def error_references(held: Window | Sketch, band: Band) -> tuple[Doubles, Doubles]:
    """Error-retention curves of a random and of the optimal ranking at the retentions of a band [K]."""
    mean = band.estimate[-1]
    errors, units = weighted_errors(held)
    if not len(errors):
        return mean * band.retention, np.full(len(band.retention), np.nan)
    order = np.argsort(errors, kind="stable")
    ladder = Ladder(units[order])
    best = partial_sums(errors[order] * ladder.count, *ladder.steps(band.retention * ladder.n)) / ladder.n
    return mean * band.retention, best


def f_references(view: View, band: Band) -> tuple[Doubles, Doubles]:
    """F1-retention curves of a random and of the optimal ranking at the retentions of a band [K]."""
    kept = band.retention * view.n
    total = float("nan") if view.hits is None else float(view.hits.totals.sum())
    return f_values(total * band.retention, kept, total), f_values(np.minimum(kept, total), kept, total)
