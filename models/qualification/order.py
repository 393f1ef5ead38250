"""Rank correlation that discounts swaps among nearly equal scores.

Spearman's coefficient compares ranks. With 24 units, a swap of two neighbours lowers it to 0.99913, even if their
scores differ in the seventh digit and no threshold can separate them. Here a unit's position is a continuous function
of its score, so that the cost of a swap depends on the distance of the two scores:

- the position p of a unit is its place in the empirical distribution of the reference scores, in [0, 1],
  interpolated between every fourth unit or so (between at most 1000 for many units), so neighbours that
  are nearly equal have positions that are nearly equal; scores equal to about the precision of float32 share one;
- the isotonic regression m of p on the new scores is the best non-decreasing map of them (Barlow,
  Bartholomew, Bremner & Brunk 1972; pool adjacent violators, equal scores pooled first);
- the coefficient is the Pearson correlation of p and m, sqrt(1 - sum (p - m)² / sum (p - mean p)²), with the residual
  sum divided by the share of degrees of freedom that the fit leaves (estimated by the number of its level sets; Meyer &
  Woodroofe 2000), but at most doubled.

It is 1 for every increasing map, does not depend on the scale of either score, and agrees with Spearman's coefficient
if there are many units and swaps are wider than their spacing (within 1e-5 at n = 4000 around 0.9999, under test).
"""

import math

import numpy as np

from models.qualification.replayed import Float64, Floats

_PER_KNOT = 4
_MOST_KNOTS = 1000
_TIED = 16 * float(np.finfo(np.float32).eps)
"""Relative difference of neighbours that count as equal, about 2e-6."""


def rank_correlation(reference: Floats, scores: Floats) -> float | None:
    """Return the agreement in order of two scores of the same units [n], in [0, 1]; None for a constant reference.

    Scores must be finite. Reversed and unrelated orders are both near 0.
    """
    from scipy.optimize import isotonic_regression  # late: services that carry nothing need no SciPy

    position = positions(reference)
    spread = position - position.mean()
    total = float(spread @ spread)
    if total == 0:
        return None
    values, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    means = np.bincount(group, position, len(values)) / counts
    fit = isotonic_regression(means, weights=counts.astype(np.float64)).x[group]
    rest = position - fit
    n = len(position)
    left = max(n - len(np.unique(fit)), n / 2) / n
    return math.sqrt(max(0.0, 1 - float(rest @ rest) / left / total))


def positions(scores: Floats) -> Float64:
    """Return the position of each unit [n] in the interpolated empirical distribution of the scores, in [0, 1]."""
    n = len(scores)
    values, group, counts = np.unique(np.asarray(scores, np.float64), return_inverse=True, return_counts=True)
    scale = float(np.median(np.abs(scores - np.median(scores))))
    apart = np.diff(values) > _TIED * np.maximum(np.abs(values[1:]), scale)
    cluster = np.concatenate([[0], np.cumsum(apart)])
    mass = np.bincount(cluster, counts)
    middle = np.bincount(cluster, counts * values) / mass
    place = (np.cumsum(mass) - mass / 2) / n
    step = max(_PER_KNOT / n, 1 / _MOST_KNOTS)
    kept = np.unique(np.floor(place / step), return_index=True)[1]
    kept = np.unique([*kept.tolist(), len(place) - 1, *np.flatnonzero(mass / n >= step).tolist()])
    position: Float64 = np.interp(middle, middle[kept], place[kept])[cluster][group]
    return position
