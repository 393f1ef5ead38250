"""Means of values from 0, such as squared differences of labels, with intervals that allow for skewness and clusters.

Mean and standard error of positive values rise together, and a few large values carry much of the variance. So the
interval is that of ``models.estimation.intervals``: of the logarithm, with Student's quantile and the degrees of
freedom that fourth moments give (Satterthwaite 1946). Values of the same unit are one cluster, whose residuals are
added before they are squared (Liang & Zeger 1986).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from models.agreement.bounds import LEVEL, Bounds, check_level
from models.agreement.rates import jeffreys
from models.estimation.intervals import limits, quantile

Float64 = NDArray[np.float64]
Indices = NDArray[np.intp]
_FEWEST_REVIEWERS = 3
"""Number of reviewers from which the variance between reviewers can be estimated by leaving each out."""


@dataclass(frozen=True)
class Sample:
    """Values with clusters and weights; create with ``sample``."""

    values: Float64
    """Values [n]."""
    weights: Float64
    """Number of labels that each value represents, in any unit [n]."""
    clusters: Indices
    """Index of each value's cluster [n]."""
    reviewers: Indices | None
    """Indices of the reviewers of each value [n, 1 or 2], -1 for none; None where they are the ones of interest."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def mean(self) -> float:
        return float(self.weights @ self.values / self.weights.sum()) if len(self) else math.nan

    @property
    def independent(self) -> float:
        """Number of values of equal weight with the same variance (Kish 1965), at most that of clusters."""
        if not len(self):
            return 0.0
        kish = self.weights.sum() ** 2 / (self.weights @ self.weights)
        return min(float(kish), float(len(np.unique(self.clusters))))

    @property
    def clustered(self) -> bool:
        """True if values share clusters, or reviewers that are a sample."""
        return self.reviewers is not None or len(np.unique(self.clusters)) < len(self)

    def spread(self, level: float) -> Spread:
        """Return the variance of the mean; infinite if the data do not show it."""
        residual = self.weights * (self.values - self.mean) / self.weights.sum()
        influences = np.bincount(np.unique(self.clusters, return_inverse=True)[1], residual)
        clusters = len(influences)
        if clusters < 2:
            return Spread(math.inf, math.inf, 0.0)
        squares = influences**2
        second, fourth = float(squares.sum()), float(squares @ squares)
        t = float(quantile(np.array([second]), np.array([fourth]), level)[0])
        own = Spread(second * clusters / (clusters - 1), t, clusters - 1.0)
        if self.reviewers is None:
            return own
        between, freedom = self._between_reviewers(self.reviewers)
        if freedom < 1:
            return Spread(math.inf, math.inf, 0.0)
        t = max(t, float(stdtrit(freedom, (1 + level) / 2)))
        return Spread(max(between, own.variance), t, min(freedom, own.freedom))

    def _between_reviewers(self, reviewers: Indices) -> tuple[float, float]:
        """Return the variance of the mean over samples of reviewers, and its degrees of freedom.

        Each reviewer is left out in turn (jackknife). A pair of labels is left out with either of its reviewers, so its
        own variance counts twice: the interval is too wide rather than too narrow.
        """
        products, columns = self.weights * self.values, reviewers.T
        own_sum, own_weight = (
            np.sum(
                [np.bincount(column[column >= 0], values[column >= 0], reviewers.max() + 1) for column in columns], 0
            )
            for values in (products, self.weights)
        )
        present = own_weight > 0
        number, rest = int(present.sum()), self.weights.sum() - own_weight[present]
        if number < _FEWEST_REVIEWERS or not (rest > 1e-12 * self.weights.sum()).all():
            return math.inf, 0.0
        without = (products.sum() - own_sum[present]) / rest
        return float((number - 1) / number * np.sum((without - without.mean()) ** 2)), number - 1.0


@dataclass(frozen=True)
class Spread:
    """Variance of a mean."""

    variance: float
    t: float
    """Quantile by which the standard error is multiplied, for values of any skewness."""
    freedom: float
    """Degrees of freedom from the number of clusters and of reviewers alone."""


def codes(*identifiers: ArrayLike) -> tuple[Indices, ...]:
    """Return arrays of identifiers of one kind as indices from 0, equal ones alike in all arrays."""
    arrays = [np.asarray(part) for part in identifiers]
    joined = np.concatenate([part.ravel() for part in arrays if part.size] or [np.empty(0, np.intp)])
    indices = np.unique(joined, return_inverse=True)[1].astype(np.intp)
    cuts = np.cumsum([part.size for part in arrays])[:-1]
    parts = np.split(indices, cuts)
    return tuple(part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True))


def plain(identifier: Any) -> Hashable:
    """Return an identifier of an array as a plain Python value."""
    name: Hashable = identifier.item() if isinstance(identifier, np.generic) else identifier
    return name


def sample(
    name: str,
    values: ArrayLike,
    *,
    clusters: Indices | None = None,
    weights: ArrayLike | None = None,
    reviewers: Indices | None = None,
    largest: float = math.inf,
) -> Sample:
    """Check values and return them as a sample; NaN values are left out.

    Args:
        name: name of the values in errors.
        values: [n], at least 0.
        clusters: index of each value's cluster, such as its unit, by ``codes`` [n]; None: each value is one.
        weights: [n], above 0; None: equal.
        reviewers: indices of one or two reviewers of each value, by ``codes`` [n, 1 or 2], -1 for none; given, they
            count as drawn from a larger population of reviewers, to which the interval then applies.
        largest: largest possible value.

    Raises:
        ValueError: wrong shapes, or a value or weight out of range.
    """
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} has the shape {list(array.shape)}: must be [n], one number a pair or label")
    weight = np.ones(len(array)) if weights is None else np.asarray(weights, np.float64)
    cluster = np.arange(len(array)) if clusters is None else clusters
    for field, column in (("weights", weight), ("units", cluster), ("reviewers", reviewers)):
        if column is not None and (column.shape[:1] != array.shape or column.ndim != 1 + (field == "reviewers")):
            raise ValueError(f"{field} of {name} has the shape {list(column.shape)}: must fit {name}, [{len(array)}]")
    wrong = (array < 0) | (array > largest * (1 + 1e-9))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{name}[{place}] = {array[place]:g}: must be from 0 to {largest:g}, in the head's error unit")
    if not (np.isfinite(weight) & (weight > 0)).all():
        raise ValueError(f"weights of {name}: must be finite and above 0; leave out labels of weight 0")
    kept = np.isfinite(array)
    return Sample(array[kept], weight[kept], cluster[kept], None if reviewers is None else reviewers[kept])


def mean_bounds(values: Sample, *, largest: float = math.inf, level: float = LEVEL) -> Bounds:
    """Return the mean of values from 0 with its interval.

    Equal values have no variance to learn from. They are treated as counts: n of n values at least as large as these,
    and none of n that is ``largest``, each with the interval of a share.

    Args:
        largest: largest possible value; the interval ends there.
        level: probability that the interval holds the mean.

    Returns:
        NaN within [0, largest] without values.
    """
    check_level(level)
    if not len(values):
        return Bounds(math.nan, 0.0, largest)
    mean = values.mean
    spread = values.spread(level)
    error = math.sqrt(spread.variance)
    if math.isinf(error):
        return Bounds(mean, 0.0, largest)
    if error <= 1e-12 * mean or mean == 0:
        rest = jeffreys(0.0, values.independent, level).upper
        return Bounds(mean, mean * (1 - rest), mean + (largest - mean) * rest if largest > mean else mean)
    # a mean near 0 with a large error has an interval up to infinity
    with np.errstate(over="ignore"):
        low, high = limits(np.array([mean]), np.array([spread.t * error]), len(values), "positive")
    return Bounds(mean, float(low[0]), min(float(high[0]), largest))
