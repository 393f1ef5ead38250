"""Distributions over classes as members: entropies, divergences and likelihoods as in the released Shifts code.

Probabilities of M members, N units and C classes are [M, N, C]; results are float64 [N], in nats. The released code
adds 1e-10 inside logarithms and nowhere else (Shifts 1.0, section 3 and C.5); its Rényi entropies add nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.assessment.classification import SUM_TOLERANCE
from models.predictive import Array, Categorical
from models.uncertainty.refusals import need

Floats = NDArray[np.floating[Any]]
Result = NDArray[np.float64]

LOG_EPSILON = 1e-10
RENYI_ORDER = 0.8


def predictive(members: Floats) -> Categorical:
    """Return the sufficient statistics in float64; one member has its probabilities only.

    Raises:
        ValueError: a shape other than [M, N, C], no member, or rows that are not distributions.
    """
    p = _checked(members)
    if len(p) == 1:
        return Categorical(p[0])
    return Categorical(
        p.mean(axis=0),
        entropy(p).mean(axis=0),
        np.log(p + LOG_EPSILON).mean(axis=0),
        renyi_entropy(p).mean(axis=0),
    )


def entropy(probabilities: Array) -> Array:
    """Return the entropy over the last axis, nats, in the dtype of the probabilities."""
    return np.asarray(-(probabilities * np.log(probabilities + LOG_EPSILON)).sum(axis=-1))


def renyi_entropy(probabilities: Array, order: float = RENYI_ORDER) -> Array:
    """Return the Rényi entropy over the last axis, nats: ln(sum p^order) / (1 - order).

    Raises:
        ValueError: an order that is not positive, or 1 (that is ``entropy``).
    """
    if not order > 0 or order == 1:
        raise ValueError(f"order of a Rényi entropy must be above 0 and not 1, got {order}; for 1 use entropy")
    return np.asarray(np.log((probabilities**order).sum(axis=-1)) / (1 - order))


def confidence(members: Floats) -> Result:
    """Return the largest mean probability, negated, so that larger is less certain."""
    return np.asarray(-_checked(members).mean(axis=0).max(axis=-1))


def entropy_of_expected(members: Floats) -> Result:
    """Return the total uncertainty: entropy of the mean distribution."""
    return np.asarray(entropy(_checked(members).mean(axis=0)))


def expected_entropy(members: Floats) -> Result:
    """Return the data uncertainty: mean of the members' entropies."""
    return np.asarray(entropy(_checked(members)).mean(axis=0))


def mutual_information(members: Floats) -> Result:
    """Return the knowledge uncertainty: entropy of the expected minus expected entropy; zero for one member."""
    return entropy_of_expected(members) - expected_entropy(members)


def epkl(members: Floats) -> Result:
    """Return the expected pairwise KL divergence of members; zero for one member, as released."""
    p = _checked(members)
    cross = -(p.mean(axis=0) * np.log(p + LOG_EPSILON).mean(axis=0)).sum(axis=-1)
    return np.asarray(cross - expected_entropy(p))


def reverse_mutual_information(members: Floats) -> Result:
    """Return ``epkl`` minus mutual information; zero for one member, as released."""
    return epkl(members) - mutual_information(members)


def renyi_entropy_of_expected(members: Floats, order: float = RENYI_ORDER) -> Result:
    """Return the Rényi entropy of the mean distribution."""
    return np.asarray(renyi_entropy(_checked(members).mean(axis=0), order))


def renyi_expected_entropy(members: Floats, order: float = RENYI_ORDER) -> Result:
    """Return the mean of the members' Rényi entropies."""
    return np.asarray(renyi_entropy(_checked(members), order).mean(axis=0))


def _mutual_information(statistics: Categorical) -> Array:
    return entropy(statistics.probabilities) - need(statistics.expected_entropy, "mi")


def _epkl(statistics: Categorical, measure: str) -> Array:
    cross = -(statistics.probabilities * need(statistics.expected_log, measure)).sum(axis=1)
    return np.asarray(cross - need(statistics.expected_entropy, measure))


MEASURES: Mapping[str, Callable[[Categorical], Array]] = {
    "confidence": lambda c: -c.probabilities.max(axis=1),
    "entropy": lambda c: entropy(c.probabilities),
    "data_entropy": lambda c: need(c.expected_entropy, "data_entropy"),
    "mi": _mutual_information,
    "epkl": lambda c: _epkl(c, "epkl"),
    "rmi": lambda c: _epkl(c, "rmi") - _mutual_information(c),
    "renyi_entropy": lambda c: renyi_entropy(c.probabilities),
    "renyi_data_entropy": lambda c: need(c.expected_renyi, "renyi_data_entropy"),
}


def _checked(members: Floats) -> Result:
    p = np.asarray(members, np.float64)
    if p.ndim != 3 or not len(p) or not p.shape[2]:
        raise ValueError(f"members must be [members, units, classes], none of members and classes empty, got {p.shape}")
    if (p < 0).any():
        raise ValueError(f"probabilities must be 0 or larger, got {p.min():g}; are they logits?")
    total = p.sum(axis=2)
    if (off := np.abs(total - 1) > SUM_TOLERANCE).any():
        raise ValueError(f"probabilities of a unit must sum to 1, got {total[off][0]:g}; are they logits?")
    return p
