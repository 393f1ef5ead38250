"""Rates with intervals that hold for few labels and near 0, and the error rate behind disagreements.

Two reviewers with the error rate e, whose errors are independent and fall on any of the k - 1 wrong classes alike,
disagree with the probability

    D(e) = 2 e (1 - e) + e² (1 - 1 / (k - 1)) = 2 e - e² k / (k - 1),

which rises from 0 to (k - 1) / k as e goes from 0 to (k - 1) / k, the error rate of a guess (this is the model behind
chance-corrected agreement: Aickin 1990, Biometrics 46:293). Its inverse is

    e(D) = (k - 1) / k (1 - sqrt(1 - D k / (k - 1))).

Intervals are equal-tailed under Jeffreys' prior, which does not depend on whether e or D is the parameter. With one
event or none they start at 0 (Brown, Cai & DasGupta 2001, Statistical Science 16:101), and with none they end where the
exact interval of Clopper & Pearson 1934 does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, xlogy

from models.agreement.bounds import LEVEL, Bounds, check_level

_ROUNDING = 1e-9  # of a number of events
_FEWEST_POINTS = 2000
_DENSITY = 60
"""Points of the grid by the root of the number of labels: a posterior standard deviation spans about ten."""


@dataclass(frozen=True)
class Counts:
    """Events among trials, both in numbers of independent trials of equal weight, so not whole."""

    events: float
    trials: float


def jeffreys(events: float, trials: float, level: float = LEVEL) -> Bounds:
    """Return the rate of events with its interval; NaN within [0, 1] without trials."""
    check_level(level)
    if not trials > 0:
        return Bounds(math.nan, 0.0, 1.0)
    rest = max(trials - events, 0.0)
    return Bounds(events / trials, 1 - _upper(rest, events, level), _upper(events, rest, level))


def _upper(events: float, rest: float, level: float) -> float:
    """Return the upper end of the rate of events.

    Args:
        rest: trials without an event.
    """
    tail = (1 - level) / 2
    if rest <= 1 + _ROUNDING:
        return 1.0
    if events <= _ROUNDING:
        return float(1 - tail ** (1 / rest))
    return float(betaincinv(events + 0.5, rest + 0.5, 1 - tail))


def disagreement(error: float, classes: int) -> float:
    """Return the probability that two independent labels with an error rate differ, D(e)."""
    return 2 * error - error**2 * classes / (classes - 1)


def error_rate(disagreement: float, classes: int) -> float:
    """Return the error rate of one label behind a probability that two differ, e(D); a guess's for more than chance."""
    most = (classes - 1) / classes
    return most * (1 - math.sqrt(max(1 - disagreement / most, 0.0)))


def error_rate_bounds(pairs: Counts, known: Counts, classes: int, level: float = LEVEL) -> Bounds:
    """Return the error rate of one label, from disagreements of pairs and errors of labels of known units.

    The figure has the largest likelihood; both kinds of labels add to it as much as they tell.

    Args:
        pairs: disagreements among pairs of independent labels.
        known: wrong labels among those of known units.
        classes: number of classes, at least 2.

    Raises:
        ValueError: fewer than 2 classes.
    """
    check_level(level)
    if classes < 2:
        raise ValueError(f"classes = {classes}: must be at least 2, the number of classes of the head")
    if not pairs.trials > 0:
        return jeffreys(known.events, known.trials, level)
    most = (classes - 1) / classes
    mean = _likeliest(pairs, known, classes)
    if pairs.trials + known.trials < 1:
        return Bounds(mean, 0.0, 1.0)
    # the grid is even in the angle a, e = most sin²(a / 2), in which Jeffreys' density is finite
    points = _FEWEST_POINTS + int(_DENSITY * math.sqrt(pairs.trials + known.trials))
    angles = (np.arange(points) + 0.5) * (math.pi / points)
    error = most * np.sin(angles / 2) ** 2
    apart = 2 * error - error**2 / most
    with np.errstate(divide="ignore"):
        likelihood = xlogy(pairs.events, apart) + xlogy(pairs.trials - pairs.events, 1 - apart)
        likelihood += xlogy(known.events, error) + xlogy(known.trials - known.events, 1 - error)
        information = known.trials / (error * (1 - error))
        information += pairs.trials * 4 * (1 - error / most) ** 2 / (apart * (1 - apart))
    density = np.exp(likelihood - likelihood.max()) * np.sqrt(information) * np.sin(angles)
    below = np.cumsum(density)
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], below / below[-1], error)
    if pairs.events + known.events <= 1 + _ROUNDING:
        low = np.float64(0)
    if pairs.events + known.events <= _ROUNDING:
        high = np.interp(-math.log((1 - level) / 2), -likelihood, error)
    return Bounds(mean, min(float(low), mean), max(float(high), mean))


def _likeliest(pairs: Counts, known: Counts, classes: int) -> float:
    """Return the error rate with the largest likelihood."""
    most = (classes - 1) / classes
    if not known.trials > 0:
        return error_rate(pairs.events / pairs.trials, classes)
    if not pairs.events + known.events > 0:
        return 0.0

    def slope(error: float) -> float:
        apart = disagreement(error, classes)
        steep = 2 * (1 - error / most)
        from_pairs = steep * (pairs.events / apart - (pairs.trials - pairs.events) / (1 - apart))
        return from_pairs + known.events / error - (known.trials - known.events) / (1 - error)

    first, last = 1e-12, most * (1 - 1e-9)
    if slope(last) >= 0:
        return most
    return float(brentq(slope, first, last)) if slope(first) > 0 else 0.0
