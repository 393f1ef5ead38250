"""Agreement beyond chance: Cohen's kappa and Krippendorff's alpha, one less observed by expected disagreement.

Intervals come from the ratio of both disagreements, whose variance the units show: by leaving each out (jackknife), or
by the derivatives in its labels (delta method). Shares of disagreeing labels have few events where reviewers agree
well; their interval is that of a share with the number of independent labels that has the ratio's variance. Squared
differences have the interval of a positive mean.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from models.agreement.bounds import LEVEL, Bounds, check_level
from models.agreement.means import Float64, Indices, codes
from models.agreement.pairs import Agreement, LabelPairs, LabelTable, agreement
from models.agreement.rates import jeffreys
from models.estimation.intervals import limits, quantile

Metric = Literal["nominal", "interval"]


def kappa_measure(pairs: LabelPairs, *, level: float = LEVEL) -> Agreement:
    """Return Cohen's kappa of pairs of classes (Cohen 1960, Educational and Psychological Measurement 20:37).

    Chance is that of two reviewers who give each class as often as they do in all these pairs. For two reviewers that
    is Cohen's kappa, with the variance of Fleiss, Cohen & Everitt 1969; for more it is the mean over pairs, as in
    Conger 1980, with each reviewer's classes counted over all partners. Pairs of one unit are one cluster.

    Returns:
        NaN within [-1, 1] if no class but one occurs, or without pairs.
    """
    check_level(level)
    if pairs.first_value is None or pairs.second_value is None:
        raise ValueError("values: must be the classes of both labels; got none: use the difference measure")
    pairs = pairs.take(np.isfinite(pairs.first_value) & np.isfinite(pairs.second_value))
    assert pairs.first_value is not None
    assert pairs.second_value is not None
    n = len(pairs)
    if not n:
        return agreement(Bounds(math.nan, -1.0, 1.0), pairs)
    (unit,), (first, second) = codes(pairs.unit), codes(pairs.first, pairs.second)
    one, other = codes(pairs.first_value, pairs.second_value)
    people, classes = int(max(first.max(), second.max())) + 1, int(max(one.max(), other.max())) + 1
    counts = np.zeros((people, classes))
    for reviewer, label in ((first, one), (second, other)):
        np.add.at(counts, (reviewer, label), 1.0)
    labels = counts.sum(axis=1)
    margins = counts / labels[:, None]
    apart = (one != other).astype(np.float64)
    chance = 1 - np.einsum("pc,pc->p", margins[first], margins[second])
    observed, expected = float(apart.mean()), float(chance.mean())
    # a label moves its reviewer's margin, which all pairs of that reviewer share
    partners = np.zeros((people, classes))
    np.add.at(partners, first, margins[second])
    np.add.at(partners, second, margins[first])
    moved = (partners - np.einsum("rc,rc->r", partners, margins)[:, None]) / labels[:, None]
    of_expected = (chance - expected - moved[first, one] - moved[second, other]) / n
    of_observed = (apart - observed) / n
    return agreement(_bounds(observed, expected, unit, of_observed, of_expected, level), pairs)


def _bounds(
    observed: float, expected: float, unit: Indices, of_observed: Float64, of_expected: Float64, level: float
) -> Bounds:
    """Return one less the ratio of disagreements from the derivatives in each pair [P]."""
    if not expected > 0:
        return Bounds(math.nan, -1.0, 1.0)
    influences = np.bincount(unit, of_observed - observed / expected * of_expected) / expected
    return _beyond_chance(observed, expected, influences, "nominal", level)


def alpha_measure(pairs: LabelPairs, *, metric: Metric = "nominal", level: float = LEVEL) -> Agreement:
    """Return Krippendorff's alpha: any number of reviewers and of labels a unit (Krippendorff 2011).

    Args:
        pairs: pairs with values; each label counts once.
        metric: ``nominal`` for classes, ``interval`` for numbers.

    Returns:
        NaN within [-1, 1] if all labels are equal, or without pairs.
    """
    check_level(level)
    return agreement(krippendorff_alpha(pairs.labels(), metric, level), pairs)


def krippendorff_alpha(labels: LabelTable, metric: Metric, level: float = LEVEL) -> Bounds:
    """Return Krippendorff's alpha of labels; units with one label are left out."""
    number = np.bincount(labels.unit)
    kept = number[labels.unit] > 1
    if not kept.any():
        return Bounds(math.nan, -1.0, 1.0)
    (unit,), value = codes(labels.unit[kept]), labels.value[kept]
    number = np.bincount(unit).astype(np.float64)
    n = float(number.sum())
    if metric == "nominal":
        (place,) = codes(value)
        counts = np.zeros((len(number), int(place.max()) + 1))
        np.add.at(counts, (unit, place), 1.0)
        inside = number**2 - (counts**2).sum(axis=1)
        everything = counts.sum(axis=0)
        total = n**2 - float((everything**2).sum())
        without = (n - number) ** 2 - ((everything - counts) ** 2).sum(axis=1)
    else:
        value = value - value.mean()
        sums, squares = np.bincount(unit, value), np.bincount(unit, value**2)
        inside = 2 * (number * squares - sums**2)
        total = 2 * (n * float(squares.sum()) - float(sums.sum()) ** 2)
        without = 2 * ((n - number) * (squares.sum() - squares) - (sums.sum() - sums) ** 2)
    apart = np.maximum(inside, 0.0) / (number - 1)
    observed, expected = float(apart.sum()) / n, total / (n * (n - 1))
    if not expected > 0 or (without <= 0).any() or len(number) < 2:
        ratio = observed / expected if expected > 0 else math.nan
        return Bounds(1 - ratio, -1.0, 1.0)
    rest = n - number
    ratios = (apart.sum() - apart) / rest / (without / (rest * (rest - 1)))
    influences = (len(number) - 1) / len(number) * (ratios.mean() - ratios)
    return _beyond_chance(observed, expected, influences, metric, level)


def _beyond_chance(observed: float, expected: float, influences: Float64, metric: Metric, level: float) -> Bounds:
    """Return one less the ratio of both disagreements with its interval, from -1 to 1.

    Args:
        influences: contribution of each unit to the error of the ratio [U].
    """
    ratio, units = observed / expected, len(influences)
    if units < 2:
        return Bounds(1 - ratio, -1.0, 1.0)
    squares = influences**2
    second, fourth = float(squares.sum()), float(squares @ squares)
    variance = second * units / (units - 1)
    if metric == "nominal":
        trials = float(units)
        if 0 < observed < 1 and variance > 0:
            trials = observed * (1 - observed) / (expected**2 * variance)
        share = jeffreys(observed * trials, trials, level)
        low, high = share.lower / expected, share.upper / expected
    elif variance > 0 and ratio > 0:
        t = float(quantile(np.array([second]), np.array([fourth]), level)[0])
        with np.errstate(over="ignore"):
            ends = limits(np.array([ratio]), np.array([t * math.sqrt(variance)]), units, "positive")
        low, high = (float(end[0]) for end in ends)
    else:
        low, high = 0.0, 2.0
    return Bounds(1 - ratio, max(1 - high, -1.0), 1 - low)
