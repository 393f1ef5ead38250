"""The table from a measure's name to its formula.

Formulas follow Malinin et al., "Shifts" (NeurIPS 2021 datasets track), section 2 and appendix B:
total = data + knowledge, for variances (regression) and entropies in nats (classification).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.predictive import Array, Categorical, Gaussian, Predictive

_LOG_EPSILON = 1e-10  # the released code adds it inside logarithms only


class UnknownMeasure(ValueError):
    """No such measure for this kind of predictive."""


class MeasureAbsent(ValueError):
    """The measure is defined, but this model cannot give it (a single model has no knowledge measure)."""


def score(predictive: Predictive, name: str) -> NDArray[np.float32]:
    """The measure of every unit, float32 [N].

    Raises:
        UnknownMeasure: ``name`` is not a measure of this kind of predictive.
        MeasureAbsent: the statistics that it needs do not exist for this model.
    """
    table = _TABLES.get(type(predictive), {})
    if name not in table:
        raise UnknownMeasure(f"{name!r} is not a measure of {type(predictive).__name__}; use one of {sorted(table)}")
    value: Array = table[name](predictive)
    return value.astype(np.float32, copy=False)


def names(kind: type[Predictive]) -> tuple[str, ...]:
    """The measures defined for a kind of predictive, in alphabetical order."""
    return tuple(sorted(_TABLES.get(kind, {})))


def _need(value: Array | None, measure: str) -> Array:
    if value is None:
        raise MeasureAbsent(f"{measure} needs an ensemble (or a sampled model); a single model does not have it")
    return value


def _entropy(categorical: Categorical) -> Array:
    p = categorical.probabilities
    return np.asarray(-(p * np.log(p + _LOG_EPSILON)).sum(axis=1))


def _mutual_information(categorical: Categorical) -> Array:
    return _entropy(categorical) - _need(categorical.expected_entropy, "mi")


def _epkl(categorical: Categorical) -> Array:
    expected_log = _need(categorical.expected_log, "epkl")
    cross = -(categorical.probabilities * expected_log).sum(axis=1)
    return np.asarray(cross - _need(categorical.expected_entropy, "epkl"))


_GAUSSIAN: dict[str, Callable[[Gaussian], Array]] = {
    "tvar": lambda g: g.mvar + _need(g.varm, "tvar"),
    "mvar": lambda g: g.mvar,
    "varm": lambda g: _need(g.varm, "varm"),
    "epkl": lambda g: _need(g.epkl, "epkl"),
    "variance": lambda g: g.tvar,
}
_CATEGORICAL: dict[str, Callable[[Categorical], Array]] = {
    "confidence": lambda c: -c.probabilities.max(axis=1),
    "entropy": _entropy,
    "data_entropy": lambda c: _need(c.expected_entropy, "data_entropy"),
    "mi": _mutual_information,
    "epkl": _epkl,
    "rmi": lambda c: _epkl(c) - _mutual_information(c),
}
_TABLES: dict[type[Predictive], dict[str, Callable[[Any], Array]]] = {
    Gaussian: _GAUSSIAN,
    Categorical: _CATEGORICAL,
}
