"""Candidate thresholds from scores of other units than those that are tested.

Given the thresholds, the answered units among the tested ones are independent draws from the law of answered units,
so exact tests are exact. With thresholds from the tested units' own scores they would be so only if the risk crosses
its limit once. Hence the thresholds are the scores of a few units, the *rulers*, which are not tested; between two
rulers they are interpolated, so a few dozen are enough. The largest score is a ruler too: nothing above it is answered.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.certification.units import LARGEST, Floats, Mask, Units, as_scores

STEPS = 200
"""Least number of thresholds if there are fewer rulers; finer grids gain less than they cost."""
MOST_RULERS = 1000


@dataclass(frozen=True)
class Grid:
    """Candidate thresholds, and the numbers of units expected at them."""

    thresholds: NDArray[np.float32]
    """Thresholds, ascending, distinct and finite [m]."""
    expected: NDArray[np.float64]
    """Expected number of tested units with a label at or below each threshold [m]."""
    tested: Mask
    """Mask of the units [n] that may be tested."""


def own_grid(units: Units, smallest: int) -> Grid:
    """Return thresholds from rulers among the units: one in forty, at least ten, and the largest finite score.

    If that leaves fewer than ``smallest``, the least number that can certify anything, the largest score is the only
    ruler: then only answering everything can be certified.
    """
    n = len(units)
    rulers = min(max(n // 40, min(10, n // 10)), MOST_RULERS)
    if n - rulers - 1 < smallest:
        rulers = 0
    tested = np.ones(n, bool)
    if rulers:
        tested[np.argpartition(units.draws, rulers)[:rulers]] = False
    finite = np.where(units.scores < np.inf, units.scores, -np.inf)  # NaN compares false
    finite[~tested] = -np.inf
    top = int(np.argmax(finite))
    if np.isfinite(finite[top]):
        tested[top] = False
    weights = np.ones(n) if units.propensity is None else units.propensity
    return _grid(units.scores[~tested], weights[~tested], tested)


def other_grid(units: Units, unlabelled: Floats) -> Grid:
    """Return thresholds from scores [k] of other units of the same law, labelled or not: all units are tested."""
    scores = np.sort(as_scores(unlabelled))
    if len(scores) > MOST_RULERS:
        scores = scores[np.linspace(0, len(scores) - 1, MOST_RULERS).astype(np.intp)]
    return _grid(scores, np.ones(len(scores)), np.ones(len(units), bool))


def _grid(rulers: NDArray[np.float32], weights: NDArray[np.float64], tested: Mask) -> Grid:
    finite = rulers < np.inf
    known, index = np.unique(np.maximum(rulers[finite], np.float32(-LARGEST)), return_inverse=True)
    if not len(known):
        return Grid(known, np.empty(0), tested)
    seen = np.cumsum(np.bincount(index, weights[finite])) * (tested.sum() / len(rulers))
    places = np.arange(len(known))
    # the rulers themselves are kept: for scores of few values they are the only thresholds that matter
    steps = np.union1d(np.linspace(0, len(known) - 1, STEPS), places) if len(known) < STEPS else places
    values, first = np.unique(np.interp(steps, places, known.astype(np.float64)).astype(np.float32), return_index=True)
    return Grid(values, np.interp(steps, places, seen)[first], tested)
