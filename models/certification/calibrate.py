"""The way from labelled units to a threshold that was also judged: fold, choose, judge, for all and for each group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.certification.certificate import About
from models.certification.choose import Chosen, Goal, JointRisk, LeastCost, SelectiveRisk, choose
from models.certification.folds import split
from models.certification.groups import shared_goal, split_by
from models.certification.judge import Judgement, judge
from models.certification.units import Units, answered, losses


@dataclass(frozen=True)
class Calibrated:
    """What was chosen on one fold, and what it does on the other and on all n units."""

    chosen: Chosen
    """From the units of the calibrate fold; its retention is theirs."""
    n: int
    retention: float
    """Share of all n units answered at the threshold."""
    seen: Judgement
    """All n units: risks are those the threshold was chosen on, and too good by that."""
    judged: Judgement | None
    """The judge fold; None where no unit was kept for it."""
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
    """A threshold for all units, and where ``by`` [n] is given one for each of its values.

    The two statements stand side by side: that of all units with 1 - delta, those of the groups, together, too.

    Args:
        judge_share: of the units that judge, in [0, 1).
        acceptable: for judging goals that know no loss; goals of risk bring their own.
        bound: largest loss, likewise; None judges retention only.

    Raises:
        ValueError: as ``choose`` and ``folds.split``.
    """
    if isinstance(goal, SelectiveRisk | JointRisk):
        acceptable, bound = goal.acceptable, goal.bound
    elif isinstance(goal, LeastCost):
        acceptable, bound = goal.acceptable, None if goal.acceptable is None else 1.0
    if bound is not None and units.errors is not None:
        losses(units, acceptable, bound)  # refuses by the row of the whole, not of a fold
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
        judged = judge(units.part(folds.judge), chosen.threshold, acceptable=acceptable, bound=bound)
    return Calibrated(
        chosen,
        len(units),
        float(np.mean(answered(units.scores, chosen.threshold))),
        judge(units, chosen.threshold, acceptable=acceptable, bound=bound),
        judged,
    )


def default_judge_share(goal: Goal, n: int) -> float:
    """One unit in twenty judges a risk, where that is fifty: fewer would say nothing, and the certificate needs them.

    Of retention and capacity the law is known exactly; nothing is kept.
    """
    risk = isinstance(goal, SelectiveRisk | JointRisk | LeastCost)
    return 0.05 if risk and n >= 1000 else 0.0
