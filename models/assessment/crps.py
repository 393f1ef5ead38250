"""Continuous ranked probability score: squared distance of a predicted distribution to a step at the observation.

CRPS(F, y) = integral (F(x) - 1[x >= y])² dx, in the unit of the observation; for a certain prediction it is the
absolute error. It is proper: on average no distribution scores better than the true one. Everything is computed in
float64; a variance of zero is a certain prediction.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Float64 = NDArray[np.float64]

_ROOT_2_PI = math.sqrt(2 * math.pi)


def normal(target: Floats, mean: Floats, variance: Floats) -> Float64:
    """Return CRPS of normal distributions, float64 [N] (Gneiting et al. 2005, equation 5).

    Args:
        target: observations [N].
        mean: predicted means [N], in the unit of the observations.
        variance: predicted variances [N], in its square.

    Raises:
        ValueError: shapes that differ, or a variance that is negative or NaN.
    """
    y, mu, v = _checked(target, mean, variance, axes=1)
    return _spread(y - mu, v) - np.sqrt(v / math.pi)


def mixture(target: Floats, mean: Floats, variance: Floats) -> Float64:
    """Return CRPS of equal-weight mixtures of M normal members, float64 [N] (Grimit et al. 2006, equation 5).

    With variances of zero it is that of an ensemble of M values: E|X - y| - E|X - X'| / 2.

    Args:
        target: observations [N].
        mean: means of the members [M, N], in the unit of the observations.
        variance: variances of the members [M, N], in its square.

    Raises:
        ValueError: as ``normal``, or no member.
    """
    y, mu, v = _checked(target, mean, variance, axes=2)
    members = len(mu)
    among = np.zeros(len(y))
    for member in range(members):  # a loop over members keeps memory at [M, N]
        among += _spread(mu[member] - mu, v[member] + v).sum(axis=0)
    return np.asarray(_spread(y - mu, v).mean(axis=0) - among / (2 * members**2))


def _spread(distance: Float64, variance: Float64) -> Float64:
    """Return E|Z| of a normal variable Z of this mean and variance."""
    from scipy.special import ndtr

    deviation = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = np.where(deviation > 0, distance / deviation, 0.0)
    known = 2 * deviation * np.exp(-0.5 * z**2) / _ROOT_2_PI + distance * (2 * ndtr(z) - 1)
    return np.asarray(np.where(deviation > 0, known, np.abs(distance)))


def _checked(target: Floats, mean: Floats, variance: Floats, axes: int) -> tuple[Float64, Float64, Float64]:
    y, mu, v = (np.asarray(values, np.float64) for values in (target, mean, variance))
    if mu.shape != v.shape or mu.ndim != axes or not len(mu) or y.shape != mu.shape[-1:]:
        shape = "[units]" if axes == 1 else "[members, units]"
        raise ValueError(
            f"mean and variance must be {shape} and target [units], got the shapes {mu.shape}, {v.shape} and {y.shape}"
        )
    if not (v >= 0).all():
        wrong = v[~(v >= 0)]
        raise ValueError(f"variance must be 0 or larger, {wrong.size} of {v.size} are not (one is {wrong[0]:g})")
    return y, mu, v
