"""Evaluation of a threshold: realised retention and risks on units that were not used to choose it."""

import math
from dataclasses import dataclass

import numpy as np

from models.certification.pvalues import exact_interval
from models.certification.selective_risk import binary
from models.certification.units import Units, answered, losses


@dataclass(frozen=True)
class Interval:
    """Share or mean with its interval of 95 % coverage at every sample size; NaN if nothing was answered."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class ThresholdEvaluation:
    """Results of n units at a threshold."""

    n: int
    answered: int
    retention: Interval
    risk: Interval | None
    """Mean loss of the answered units (selective risk); None without losses."""
    joint_risk: Interval | None
    """Mean loss of all units, deferred ones counted as 0; None without losses."""


def evaluate_threshold(
    units: Units,
    threshold: float | None,
    *,
    acceptable: float | None = None,
    bound: float | None = 1.0,
    level: float = 0.95,
) -> ThresholdEvaluation:
    """Return realised retention and risks on n units, with exact intervals (Clopper & Pearson 1934).

    Losses that are not 0 and 1 have Hoeffding's interval, which holds for any law on [0, bound].

    Args:
        threshold: None defers everything.
        bound: largest loss; None for no losses.

    Raises:
        ValueError: an error outside [0, bound].
    """
    kept = answered(units.scores, threshold)
    n, k = len(units), int(kept.sum())
    if bound is None or units.errors is None:
        return ThresholdEvaluation(n, k, _share(k, n, level), None, None)
    loss = losses(units, acceptable, bound)
    return ThresholdEvaluation(
        n,
        k,
        _share(k, n, level),
        _mean(loss[kept], bound, level),
        _mean(np.where(kept, loss, 0.0), bound, level),
    )


def _mean(loss: np.ndarray[tuple[int], np.dtype[np.float64]], bound: float, level: float) -> Interval:
    n = len(loss)
    if n and not (bound == 1 and binary(loss)):
        mean, half = float(np.mean(loss)), bound * math.sqrt(math.log(2 / (1 - level)) / (2 * n))
        return Interval(mean, max(mean - half, 0.0), min(mean + half, bound))
    return _share(int(loss.sum()), n, level)


def _share(k: int, n: int, level: float) -> Interval:
    return Interval(k / n if n else math.nan, *exact_interval(k, n, level))
