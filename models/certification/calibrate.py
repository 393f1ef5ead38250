"""Calibration of thresholds: split units into folds, choose a threshold, evaluate it, for all units and by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.certification.certificate import About
from models.certification.choose import (
    Capacity,
    Chosen,
    Goal,
    JointRisk,
    LeastCost,
    SelectiveRisk,
    TargetRetention,
    choose,
)
from models.certification.folds import split
from models.certification.threshold_evaluation import ThresholdEvaluation, evaluate_threshold
from models.certification.units import Units, answered, losses


@dataclass(frozen=True)
class Calibrated:
    """Threshold chosen on one fold, with its evaluation on the other and on all n units."""

    chosen: Chosen
    """Choice on the calibrate fold, with the retention of that fold."""
    n: int
    retention: float
    """Share of all n units answered at the threshold."""
    seen: ThresholdEvaluation
    """Evaluation on all n units, with an optimistic risk, because the threshold was chosen on them."""
    judged: ThresholdEvaluation | None
    """Evaluation on the judge fold; None if that is empty."""
    groups: Mapping[str, Calibrated] = field(default_factory=dict)


def calibrate(
    units: Units,
    goal: Goal,
    about: About,
    judge_share: float,
    by: NDArray[Any] | None = None,
    *,
    acceptable: float | None = None,
    bound: float | None = None,
) -> Calibrated:
    """Calibrate a threshold for all units, and with ``by`` [n] one for each of its values.

    The guarantee for all units holds with 1 - delta, and so do those of the groups together.

    Args:
        judge_share: share of the units that are kept for evaluation, in [0, 1).
        acceptable: largest acceptable error for goals without a loss; goals of risk have their own.
        bound: largest loss, likewise; None evaluates retention only.

    Raises:
        ValueError: as ``choose`` and ``folds.split``.
    """
    if isinstance(goal, SelectiveRisk | JointRisk):
        acceptable, bound = goal.acceptable, goal.bound
    elif isinstance(goal, LeastCost):
        acceptable, bound = goal.acceptable, None if goal.acceptable is None else 1.0
    if bound is not None and units.errors is not None:
        losses(units, acceptable, bound)  # reports errors by the row of the whole, not of a fold
    limits = (acceptable, bound)
    whole = _calibrate(units, goal, about, judge_share, limits)
    if by is None:
        return whole
    parts = split_by(by)
    each = shared_goal(goal, len(parts))
    groups = {
        value: _calibrate(units.part(index), each, replace(about, group=value), judge_share, limits)
        for value, index in parts.items()
    }
    return replace(whole, groups=groups)


def _calibrate(
    units: Units, goal: Goal, about: About, judge_share: float, limits: tuple[float | None, float | None]
) -> Calibrated:
    folds = split(units.draws, judge_share)
    acceptable, bound = limits
    if not folds.judge.any():
        chosen = choose(units, goal, replace(about, fold="all"))
    elif folds.calibrate.any():
        chosen = choose(units.part(folds.calibrate), goal, replace(about, fold="calibrate"))
    else:
        chosen = Chosen(None, 0.0, None, "no certifiable threshold: defer all; no unit is left to calibrate on")
    judged = None
    if folds.judge.any():
        judged = evaluate_threshold(units.part(folds.judge), chosen.threshold, acceptable=acceptable, bound=bound)
    return Calibrated(
        chosen,
        len(units),
        float(np.mean(answered(units.scores, chosen.threshold))),
        evaluate_threshold(units, chosen.threshold, acceptable=acceptable, bound=bound),
        judged,
    )


def shared_goal(goal: Goal, groups: int) -> Goal:
    """Return the goal of each of G groups, so that all hold together with confidence 1 - delta: delta / G (Bonferroni).

    Each group then has its own procedure (Mondrian). A group with too few units for its delta gets no threshold and is
    deferred: the threshold of all units has no guarantee for it.
    """
    if isinstance(goal, SelectiveRisk | TargetRetention | Capacity):
        return replace(goal, delta=goal.delta / max(groups, 1))
    return goal


def split_by(values: NDArray[Any]) -> Mapping[str, NDArray[np.intp]]:
    """Return the indices [k] of the units of each value, by the value as text, in order."""
    names, inverse = np.unique(values.astype(str), return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    cuts = np.cumsum(np.bincount(inverse))[:-1]
    return dict(zip(names.tolist(), np.split(order, cuts), strict=True))


def default_judge_share(goal: Goal, n: int) -> float:
    """Return the share of units that are kept for evaluation: one in twenty for a risk, if that is fifty units.

    For retention and capacity no units are kept, because the law of the realised retention is known exactly.
    """
    risk = isinstance(goal, SelectiveRisk | JointRisk | LeastCost)
    return 0.05 if risk and n >= 1000 else 0.0
