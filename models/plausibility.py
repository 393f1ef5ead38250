"""Impossible predictions: predictives outside the range of possible values of their target.

A model can extrapolate to values that its target never takes, such as negative power, with little uncertainty. Such a
prediction is deferred for any score (``services.policy.decision``).
"""

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.predictive import Gaussian, Predictive, Trajectories

_NARROW = 8.0
"""Standard deviations in the width of a range above which the mass beyond its far end is negligible (< 1e-15)."""
_erf = np.vectorize(math.erf, otypes=[np.float64])


class Bounded(Protocol):
    """Target with a range of possible values, such as ``models.head.Head``; in its unit, None for an open end."""

    @property
    def lower(self) -> float | None: ...

    @property
    def upper(self) -> float | None: ...


def impossible(target: Bounded, predictive: Predictive) -> NDArray[np.bool_] | None:
    """Return the mask of the units [N] with an impossible prediction; None if none has.

    A Gaussian predictive is impossible if its mean, the centre of its intervals, lies outside the range of the target,
    or more than half of its mass does; trajectories are if the best plan leaves the range, or plans with more than half
    of the weight do. NaN is not flagged here: its score is NaN as well, and the unit is deferred for that reason.
    """
    if target.lower is None and target.upper is None:
        return None
    lower = -math.inf if target.lower is None else target.lower
    upper = math.inf if target.upper is None else target.upper
    if isinstance(predictive, Gaussian):
        if math.isinf(upper) and np.fmin.reduce(predictive.mean) >= lower:  # the common case, fast
            return None
        outside = _gaussian(predictive, lower, upper)
    elif isinstance(predictive, Trajectories):
        beyond: NDArray[np.bool_] = (predictive.plans < lower) | (predictive.plans > upper)
        leaves = np.asarray(beyond.any(axis=(2, 3)))
        outside = leaves[:, 0] | ((predictive.weights * leaves).sum(axis=1) > 0.5)
    else:
        return None
    return outside if outside.any() else None


def _gaussian(predictive: Gaussian, lower: float, upper: float) -> NDArray[np.bool_]:
    mean, width = predictive.mean, upper - lower
    if math.isinf(width):  # with one open end, a mean within the range has at least half of the mass with it
        return np.asarray(mean < lower if math.isinf(upper) else mean > upper)
    outside: NDArray[np.bool_] = np.asarray((mean < lower) | (mean > upper))
    variance = predictive.tvar
    wide = np.flatnonzero(variance > (width / _NARROW) ** 2)
    if len(wide):
        centre, scale = np.asarray(mean[wide], np.float64), np.sqrt(2.0 * np.asarray(variance[wide], np.float64))
        outside[wide] |= (_erf((upper - centre) / scale) - _erf((lower - centre) / scale)) / 2 < 0.5
    return outside
