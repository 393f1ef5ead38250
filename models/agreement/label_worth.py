"""Worth of one more label: how much it would narrow the estimate of a live figure.

A figure is a sum of errors x with coefficients c. Units of one stratum (answered or deferred, and of about the same
propensity) have a label with the same probability, so n labels of N units estimate their part with the variance

    V = N² s² (1 / n - 1 / N),

s² being the mean square of c (x - m) in the stratum, and m the monotone prediction of the error by the measure, as in
the monitor's estimator (Cochran 1977, Sampling Techniques, sections 5.3 and 7.3). One more label reduces V by
N² s² / (n (n + 1)).

All waiting units of a stratum are worth the same. A worth that followed a unit's own score or prediction would show
them to whoever sees the worth; labels that arrive in its order would no longer be a random sample of those requested,
and estimates that weight labels by their probability would be biased. Between strata the order is free, since each is
weighted by its own labels. The worth of a stratum still tells answered from deferred units: it is for operators, and
for reviewers after they have labelled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtri

from models.agreement.bounds import LEVEL, check_level
from models.agreement.means import Float64, Indices, codes
from models.estimation.exact import Exact
from models.estimation.weights import monotone
from models.estimation.window import Mask, Window

Figure = Literal["answered_error", "error", "mean_error", "system_error", "r_auc"]
_MOST_STRATA = 8
_BORROWED = 30.0
"""Number of labels that the mean square of all answered, or of all deferred units counts as in that of a stratum."""


@dataclass(frozen=True)
class LabelWorth:
    """Worth of labels for one figure."""

    half_width: float
    """Half width of the figure's interval now, in the error's unit; infinite if a stratum has no label."""
    narrowing: Float64
    """Reduction of the half width by the label of each unit [N]; 0 for units that do not wait, or do not count.
    Infinite for a stratum's first label, without which the figure has no estimate."""
    stratum: Indices
    """Stratum of each unit [N]."""


def label_worth(
    window: Window,
    figure: Figure,
    *,
    waiting: Mask | None = None,
    level: float = LEVEL,
) -> LabelWorth:
    """Return how much a label of each waiting unit would narrow the interval of a figure.

    Args:
        window: units with propensities and the labels that have arrived.
        figure: figure as in ``LiveFigures``. Deferred units count in ``mean_error`` and ``r_auc`` with the model's
            error, in ``system_error`` with a person's where that is known.
        waiting: mask of the units whose label is requested and can still arrive [N]; None: all requests without a
            label that the window knows.

    Raises:
        ValueError: an unknown figure, or a mask of another length.
    """
    check_level(level)
    if figure not in get_args(Figure):
        raise ValueError(f"figure = {figure!r}: must be one of {', '.join(get_args(Figure))}")
    if waiting is None:
        waiting = window.known_requests[1] & ~window.labelled
    if waiting.shape != (len(window),):
        raise ValueError(f"waiting has the shape {list(waiting.shape)}: must be [{len(window)}], one for each unit")
    stratum = _strata(window)
    if not len(window):
        return LabelWorth(math.nan, np.empty(0), stratum)
    counts, coefficients, error = _terms(window, figure)
    usable = window.usable & counts & np.isfinite(error)
    number = int(stratum.max()) + 1
    units, labels = (np.bincount(stratum[mask], minlength=number).astype(np.float64) for mask in (counts, usable))
    spread = _mean_squares(window, stratum, usable, coefficients[usable] * _residuals(window, usable, error))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(units > 0, units**2 * spread * np.maximum(1 / labels - 1 / np.maximum(units, 1), 0.0), 0.0)
        gains = np.minimum(np.where(units > 0, units**2 * spread / (labels * (labels + 1)), 0.0), parts)
    z, variance = float(ndtri((1 + level) / 2)), float(parts.sum())
    first = (labels == 0) & (units > 0)
    if first.any():
        narrowing = np.where(first, math.inf, 0.0)
    else:
        narrowing = z * (math.sqrt(variance) - np.sqrt(np.maximum(variance - gains, 0.0)))
    half_width = math.inf if first.any() else z * math.sqrt(variance)
    return LabelWorth(half_width, np.where(waiting & counts, narrowing[stratum], 0.0), stratum)


def _strata(window: Window) -> Indices:
    """Return the stratum of each unit [N]: answered or deferred, and its propensity or, of many, its range of them."""
    propensity = window.propensity
    values, (place,) = np.unique(propensity), codes(propensity)
    if len(values) > _MOST_STRATA:
        cuts = np.quantile(propensity, np.arange(1, _MOST_STRATA) / _MOST_STRATA)
        place = np.searchsorted(np.unique(cuts), propensity, side="left").astype(np.intp)
    (stratum,) = codes(2 * place + window.answered)
    return stratum


def _terms(window: Window, figure: Figure) -> tuple[Mask, Float64, Float64]:
    """Return which units count in a figure, the coefficients of errors, and the errors, each [N]."""
    answered, n = window.answered, len(window)
    every, even = np.ones(n, bool), np.full(n, 1 / n)
    if figure == "answered_error":
        return answered, np.full(n, 1 / max(int(answered.sum()), 1)), window.error
    if figure == "mean_error":
        return every, even, window.error
    if figure == "r_auc":
        return every, Exact(window).coefficients, window.error
    if figure == "error" or window.human_error is None:
        return answered, even, window.error
    return every, even, np.where(answered, window.error, window.human_error)


def _residuals(window: Window, usable: Mask, error: Float64) -> Float64:
    """Return the errors of labels less their prediction by the measure, answered and deferred units apart [L]."""
    residuals = np.empty(int(usable.sum()))
    place = np.empty(len(window), np.intp)
    place[np.argsort(window.uncertainty, kind="stable")] = np.arange(len(window))
    weight = 1 / window.effective
    for plane in (window.answered, ~window.answered):
        own = np.flatnonzero(usable & plane)
        own = own[np.argsort(place[own])]
        predicted = monotone(place[own], weight[own], weight[own] * error[own]).at(place[own])
        residuals[np.searchsorted(np.flatnonzero(usable), own)] = error[own] - predicted
    return residuals


def _mean_squares(window: Window, stratum: Indices, usable: Mask, values: Float64) -> Float64:
    """Return the mean square of the labels' values [L] in each stratum [S], drawn towards that of its plane."""
    number, squares = int(stratum.max()) + 1, values**2
    answered = np.zeros(number, bool)
    answered[stratum] = window.answered
    planes = np.bincount(window.answered[usable].astype(np.intp), squares, 2)
    means = planes / np.maximum(np.bincount(window.answered[usable].astype(np.intp), minlength=2), 1)
    own = np.bincount(stratum[usable], squares, number) + _BORROWED * means[answered.astype(np.intp)]
    return own / (np.bincount(stratum[usable], minlength=number) + _BORROWED)
