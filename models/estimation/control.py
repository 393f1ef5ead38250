"""Predictions of the error that cost no label, for AIPW: monotone in uncertainty, or the caller's own, tuned.

Each unit's prediction is made from the labels of the other half of the units, so that the estimate stays unbiased
whatever the prediction is worth (cross-fitting: Chernozhukov et al. 2018). The caller's own prediction is rescaled so
that it costs nothing where it says nothing (power tuning: Angelopoulos, Duchi & Zrnic 2023, "PPI++").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.estimation.weights import Cells
from models.estimation.window import Doubles

_LEAST = 25  # labels of a step, so that one large error does not predict its neighbours


@dataclass(frozen=True)
class Steps:
    """A monotone step function of the cell."""

    last: Cells
    """Last cell of each step but the final one [S - 1]."""
    value: Doubles
    """[S]."""

    def at(self, cell: Cells) -> Doubles:
        """Value at some cells [L]."""
        return np.asarray(self.value[np.searchsorted(self.last, cell, side="left")])

    def everywhere(self, cells: int) -> Doubles:
        """Value at the cells 0 .. cells - 1 [cells]."""
        lengths = np.diff(self.last, prepend=-1, append=cells - 1)
        return np.repeat(self.value, lengths)


def monotone(
    cell: Cells, weight: Doubles, value: Doubles, *, number: Doubles | None = None, rising: bool = True
) -> Steps:
    """Weighted isotonic regression of a value on the cell (pool adjacent violators) over steps of at least 25 labels.

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
    """Intercept and slope of the prediction that leave the smallest variance: weighted least squares [L].

    Args:
        weight: what the square of each label's residual counts in the variance [L].
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
    """Half of each of n units: a hash of its place, so that it depends on nothing that was measured."""
    key = np.arange(n, dtype=np.uint64)  # splitmix64 (Steele, Lea & Flood 2014)
    key += np.uint64(0x9E3779B97F4A7C15)
    key ^= key >> np.uint64(30)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(27)
    key *= np.uint64(0x94D049BB133111EB)
    return (key >> np.uint64(63)).astype(bool)
