"""Normal members: variances, pairwise divergence and likelihoods as the released Shifts code computes them.

``mean`` and ``variance`` of M members and N units are [M, N], in the target's unit and its square. Everything is
computed in float64. Over the whole range of float32 (variances 1e-38 to 1e38, zero too) results are finite; a result
beyond float64 is infinite, and results of members that are not finite may be NaN.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.convention import OFFICIAL, Convention
from models.predictive import Array, Gaussian
from models.uncertainty.refusals import need

Floats = NDArray[np.floating[Any]]
Result = NDArray[np.float64]

_PAIR_EPSILON = 1e-10  # added to variances by the released code before it compares members
_NLL_EPSILON = 1e-8  # added by the released code in likelihoods
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


def split(members: Floats) -> tuple[Result, Result]:
    """Return means and variances, float64 [M, N] each, of the released layout [M, N, 2].

    Raises:
        ValueError: another shape, or a negative variance.
    """
    if members.ndim != 3 or members.shape[2] != 2:
        raise ValueError(f"members must be [members, units, (mean, variance)], got the shape {members.shape}")
    return _checked(members[..., 0], members[..., 1])


def predictive(mean: Floats, variance: Floats, convention: Convention = OFFICIAL) -> Gaussian:
    """Return the sufficient statistics of an ensemble, float64 [N]; one member has neither ``varm`` nor ``epkl``.

    Raises:
        ValueError: shapes that differ or are not [M, N], no member, or a negative variance.
    """
    mean, variance = _checked(mean, variance)
    ensemble = len(mean) > 1
    return Gaussian(
        mean.mean(axis=0),
        data_variance(mean, variance),
        knowledge_variance(mean, variance) if ensemble else None,
        expected_pairwise(mean, variance, convention) if ensemble else None,
    )


def data_variance(mean: Floats, variance: Floats) -> Result:
    """Return the released ``mvar``: mean of the members' variances, [N] (Shifts 1.0, section 3)."""
    _, variance = _checked(mean, variance)
    with np.errstate(over="ignore"):
        return np.asarray(variance.mean(axis=0))


def knowledge_variance(mean: Floats, variance: Floats) -> Result:
    """Return the released ``varm``: variance (ddof 0) of the members' means, [N]; zero for one member, as released."""
    mean, _ = _checked(mean, variance)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(_deviations(mean)[1])


def total_variance(mean: Floats, variance: Floats) -> Result:
    """Return the released ``tvar``: variance of the mixture, ``mvar + varm``, [N]."""
    return data_variance(mean, variance) + knowledge_variance(mean, variance)


def expected_pairwise(mean: Floats, variance: Floats, convention: Convention = OFFICIAL) -> Result:
    """Return ``epkl``: mean over all ordered pairs of members, including each with itself, in nats, [N].

    Under ``pairwise_kl`` it is the divergence KL(i || j), zero if members agree. Otherwise, as in the released code, it
    is the cross-entropy, from which the members' entropies are not subtracted; it may be negative, and is also defined
    for one member.

    Moments of the members replace the sum over pairs. Deviations are taken from the first member (means) and from the
    smallest variance, to avoid cancellation.
    """
    mean, variance = _checked(mean, variance)
    variance = variance + _PAIR_EPSILON
    with np.errstate(over="ignore", invalid="ignore"):
        deviation, varm = _deviations(mean)
        distance = ((varm + deviation**2) / variance).mean(axis=0)  # mean over pairs of (mean i - mean j)² / variance j
        if convention.pairwise_kl:
            return np.asarray(0.5 * (distance + _ratio_excess(variance)))
        ratio = variance.mean(axis=0) * (1 / variance).mean(axis=0)
        return np.asarray(_HALF_LOG_2_PI + 0.5 * (np.log(variance).mean(axis=0) + ratio + distance))


def nll(target: Floats, mean: Floats, variance: Floats) -> Result:
    """Return the released negative log-likelihood in nats, in the shape of ``mean``: targets [N], means [N] or [M, N].

    Raises:
        ValueError: shapes that differ, or a negative variance.
    """
    y, mu, v = (np.asarray(values, np.float64) for values in (target, mean, variance))
    if mu.shape != v.shape or mu.shape[-1:] != y.shape or mu.ndim not in (1, 2):
        raise ValueError(
            f"mean and variance must be [units] or [members, units] and target [units], got the shapes {mu.shape}, "
            f"{v.shape} and {y.shape}"
        )
    _check_variance(v)
    with np.errstate(over="ignore", invalid="ignore"):
        fit = (y - mu) ** 2 / (2 * v + _NLL_EPSILON)
    return np.asarray(fit + 0.5 * np.log(v + _NLL_EPSILON) + _HALF_LOG_2_PI)


def ensemble_nll(target: Floats, mean: Floats, variance: Floats) -> Result:
    """Return the negative log-likelihood of the equal-weight mixture of members [M, N], nats, [N].

    The released formula -ln mean exp(-nll) is computed as a log-sum-exp: a far target has a large finite value, for
    which the released code underflows to inf.
    """
    mean, variance = _checked(mean, variance)
    members = nll(target, mean, variance)
    with np.errstate(invalid="ignore"):
        return np.asarray(math.log(len(members)) - np.logaddexp.reduce(-members, axis=0))


def mean_nll(target: Floats, mean: Floats, variance: Floats) -> float:
    """Return the mean of the mixture's negative log-likelihood over units, nats.

    Raises:
        ValueError: no units, or as ``nll``.
    """
    values = ensemble_nll(target, mean, variance)
    if not len(values):
        raise ValueError("the mean negative log-likelihood of no units is undefined; give at least one unit")
    return float(values.mean())


def _entropy(statistics: Gaussian) -> Array:
    """Return the differential entropy of the normal with the total variance, nats; -inf for a variance of zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(0.5 * np.log(statistics.tvar) + statistics.tvar.dtype.type(_HALF_LOG_2_PI + 0.5))


MEASURES: Mapping[str, Callable[[Gaussian], Array]] = {
    "tvar": lambda g: g.tvar,
    "mvar": lambda g: g.mvar,
    "varm": lambda g: need(g.varm, "varm"),
    "epkl": lambda g: need(g.epkl, "epkl"),
    "variance": lambda g: g.tvar,
    "entropy": _entropy,
}


def _deviations(mean: Result) -> tuple[Result, Result]:
    """Return the members' means minus their mean, [M, N], and their variance, [N]."""
    shifted = mean - mean[0]
    deviation = shifted - shifted.mean(axis=0)
    return deviation, np.asarray((deviation**2).mean(axis=0))


def _ratio_excess(variance: Result) -> Result:
    """Return the mean over ordered pairs of variance i / variance j - 1, [N], as a sum of squares."""
    precision = (1 / variance).sum(axis=0)
    above = variance - variance.min(axis=0)
    deviation = above - (above / variance).sum(axis=0) / precision
    return np.asarray(precision * (deviation * (deviation / variance)).sum(axis=0) / len(variance) ** 2)


def _checked(mean: Floats, variance: Floats) -> tuple[Result, Result]:
    mu, v = np.asarray(mean, np.float64), np.asarray(variance, np.float64)
    if mu.shape != v.shape or mu.ndim != 2 or not len(mu):
        raise ValueError(
            f"mean and variance must be [members, units] with at least one member, got the shapes {mu.shape} and "
            f"{v.shape}"
        )
    _check_variance(v)
    return mu, v


def _check_variance(variance: Result) -> None:
    if (negative := variance < 0).any():
        raise ValueError(
            f"variance must be 0 or larger, {int(negative.sum())} of {variance.size} are not (least "
            f"{variance[negative].min():g}); is it a logarithm or a raw output?"
        )
