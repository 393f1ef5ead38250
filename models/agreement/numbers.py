"""Agreement of numbers and of labels with a difference: intraclass correlation, and the mean difference."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import fdtri

from models.agreement.bounds import LEVEL, Bounds, check_level
from models.agreement.means import Float64, Indices, codes, mean_bounds, sample
from models.agreement.pairs import Agreement, LabelPairs, LabelTable, agreement

_FEWEST_UNITS = 20
"""Number of units from which their scatter is taken from the labels."""


def difference_measure(pairs: LabelPairs, *, largest: float = math.inf, level: float = LEVEL) -> Agreement:
    """Return the mean difference of two labels, in the unit of ``LabelRule.difference``; pairs of a unit are a cluster.

    For masks it is one minus the mean Dice of two reviewers.

    Args:
        largest: largest possible difference, such as 1 for masks and classes or 100 for texts.
    """
    kept = pairs.take(np.isfinite(pairs.difference))
    values = sample("difference", kept.difference, clusters=codes(kept.unit)[0], largest=largest)
    return agreement(mean_bounds(values, largest=largest, level=level), kept)


def icc_measure(pairs: LabelPairs, *, level: float = LEVEL) -> Agreement:
    """Return the intraclass correlation of one label, for absolute agreement (Shrout & Fleiss 1979).

    Two-way random effects, ICC(2,1), if every reviewer labelled every unit; otherwise one-way, ICC(1,1), in which the
    reviewers of a unit count as drawn anew for it.

    Returns:
        NaN within [-1, 1] if all labels are equal, or with fewer than two units.
    """
    check_level(level)
    labels = pairs.labels()
    (unit,), (reviewer,) = codes(labels.unit), codes(labels.reviewer)
    units, reviewers = int(unit.max(initial=-1)) + 1, int(reviewer.max(initial=-1)) + 1
    if len(unit) == units * reviewers and units > 1 and reviewers > 1:
        table = np.empty((units, reviewers))
        table[unit, reviewer] = labels.value
        return agreement(icc_two_way(table, level), pairs)
    return agreement(icc_one_way(labels, level), pairs)


def icc_one_way(labels: LabelTable, level: float = LEVEL) -> Bounds:
    """Return ICC(1,1): the share of the variance of labels that lies between units.

    The interval is exact for normal labels of equal number a unit. For unequal numbers the mean number is replaced by
    that of the expected mean squares (Donner 1986, International Statistical Review 54:67). Reviewers of different
    accuracy make the ratio of mean squares scatter more than normal labels do: the interval of its logarithm is then
    wider by the ratio of the standard error that leaving out each unit shows (jackknife) to that of normal labels.
    """
    number = np.bincount(labels.unit).astype(np.float64)
    (unit,) = codes(labels.unit[number[labels.unit] > 1])
    value = labels.value[number[labels.unit] > 1]
    number = np.bincount(unit).astype(np.float64)
    units, n = len(number), float(number.sum())
    if units < 2:
        return Bounds(math.nan, -1.0, 1.0)
    means = np.bincount(unit, value) / number
    within = float(np.sum((value - means[unit]) ** 2)) / (n - units)
    between = float(number @ (means - value.mean()) ** 2) / (units - 1)
    size = (n - float(number @ number) / n) / (units - 1)
    if not within > 0:
        return Bounds(1.0 if between > 0 else math.nan, -1.0, 1.0)
    ratio, tail = between / within, (1 - level) / 2
    wider = max(1.0, _scatter(number, unit, value) / math.sqrt(2 / (units - 1) + 2 / (n - units)))
    high = ratio * float(fdtri(units - 1, n - units, tail)) ** -wider
    low = ratio * float(fdtri(units - 1, n - units, 1 - tail)) ** -wider
    mean, lower, upper = ((f - 1) / (f + size - 1) for f in (ratio, low, high))
    return Bounds(mean, lower, upper)


def _scatter(number: Float64, unit: Indices, value: Float64) -> float:
    """Return the standard error of the logarithm of the ratio of mean squares, by leaving out each unit; 0 if unknown.

    Args:
        number: labels of each unit [U].
        unit: unit of each label [L].
        value: labels [L].
    """
    units, n = len(number), float(number.sum())
    if units < _FEWEST_UNITS:
        return 0.0
    value = value - value.mean()
    sums, squares = np.bincount(unit, value), np.bincount(unit, value**2)
    inside, outside = squares - sums**2 / number, sums**2 / number
    within = (inside.sum() - inside) / (n - number - (units - 1))
    between = (outside.sum() - outside - (sums.sum() - sums) ** 2 / (n - number)) / (units - 2)
    if not ((within > 0) & (between > 0)).all():
        return 0.0
    logarithm = np.log(between / within)
    return math.sqrt((units - 1) / units * float(np.sum((logarithm - logarithm.mean()) ** 2)))


def icc_two_way(table: Float64, level: float = LEVEL) -> Bounds:
    """Return ICC(2,1) of a complete table [units, reviewers], with the interval of Shrout & Fleiss 1979.

    Reviewers who are higher or lower throughout count against agreement.
    """
    n, k = table.shape
    mean = table.mean()
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    between = k * float(np.sum((rows - mean) ** 2)) / (n - 1)
    judges = n * float(np.sum((columns - mean) ** 2)) / (k - 1)
    rest = float(np.sum((table - rows[:, None] - columns + mean) ** 2)) / ((n - 1) * (k - 1))
    bottom = between + (k - 1) * rest + k * (judges - rest) / n
    if not rest > 0 or not bottom > 0:
        return Bounds((between - rest) / bottom if bottom > 0 else math.nan, -1.0, 1.0)
    icc, tail = (between - rest) / bottom, (1 - level) / 2
    excess = judges / rest
    other = n * (1 + (k - 1) * icc) - k * icc
    freedom = (k - 1) * (n - 1) * (k * icc * excess + other) ** 2 / ((n - 1) * (k * icc * excess) ** 2 + other**2)
    wide, narrow = float(fdtri(n - 1, freedom, 1 - tail)), float(fdtri(freedom, n - 1, 1 - tail))
    spread = k * judges + (k * n - k - n) * rest
    lower = n * (between - wide * rest) / (wide * spread + n * between)
    upper = n * (narrow * between - rest) / (spread + n * narrow * between)
    return Bounds(icc, lower, upper)
