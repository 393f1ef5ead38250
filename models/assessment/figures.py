"""All retention figures of one error under one uncertainty: what tables print and monitors export."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.assessment import detection, retention, selective
from models.assessment.convention import OFFICIAL, Area, Convention
from models.assessment.ranking import Floats, Ranking, ranking


@dataclass(frozen=True, slots=True)
class Rules:
    """How areas are taken: a convention, and what the released code of the task does where the convention leaves it."""

    convention: Convention = OFFICIAL
    released_area: Area = "mean"
    released_groups_ties: bool = True
    """Whether the released error curve shares the errors of tied units; the text knows no ties, and shares."""

    @property
    def area(self) -> Area:
        return self.convention.area or self.released_area

    @property
    def groups_ties(self) -> bool:
        return self.released_groups_ties or self.convention.f_ties_share


@dataclass(frozen=True, slots=True)
class Figures:
    """NaN where a figure does not exist: no acceptable limit, one domain only, constant errors."""

    n: int
    error: float
    """Mean error of all units, in the error's unit; so are the areas."""
    r_auc: float
    r_auc_random: float
    r_auc_optimal: float
    prr: float
    """Share of the way from random to optimal: 1 ranks as the errors do (the released code prints per cent)."""
    f1_auc: float
    f1_auc_random: float
    f1_auc_optimal: float
    f1_at_95: float
    roc_auc: float
    """Of telling shifted units, 0 to 1; so is ``aupr``."""
    aupr: float
    aurc: float
    e_aurc: float
    augrc: float


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """What answering a share of the units means."""

    retention: float
    error: float
    """Error of the answered units, summed and divided by all n: the error-retention curve there."""
    answered_error: float
    """Mean error of the answered units: selective risk; NaN where nothing is answered."""
    f1: float
    """NaN without an acceptable limit."""


@dataclass(frozen=True)
class Errors:
    """The errors of n units, with what does not depend on an uncertainty: made once for many measures."""

    values: Floats
    acceptable: float | None
    rules: Rules

    @cached_property
    def mean(self) -> float:
        return float(np.mean(self.values, dtype=np.float64))

    @cached_property
    def optimal(self) -> tuple[float, float]:
        """R-AUC and AURC of the optimal ranking."""
        curve = retention.optimal_curve(self.values)
        return retention.r_auc(curve, self.rules.area), selective.mean_selective_risk(curve)

    @cached_property
    def f1_references(self) -> tuple[float, float]:
        """F1-AUC at random and optimal; NaN without a limit."""
        if self.acceptable is None:
            return math.nan, math.nan
        convention = self.rules.convention
        random = retention.random_f_curve(self.values, self.acceptable, convention=convention)
        area = retention.f_auc(random, convention)
        del random
        optimal = retention.optimal_f_curve(self.values, self.acceptable, convention=convention)
        return area, retention.f_auc(optimal, convention)


def figures(errors: Errors, uncertainty: Floats | Ranking, shifted: NDArray[np.bool_] | None = None) -> Figures:
    """All figures of a measure [n]; memory beside the inputs is at most twice theirs.

    Raises:
        ValueError: no units, different lengths, an error that is NaN.
    """
    rules, ranks = errors.rules, ranking(uncertainty)
    curve = retention.error_curve(errors.values, ranks, group_ties=rules.groups_ties)
    area = retention.r_auc(curve, rules.area)
    if not rules.groups_ties:
        curve = retention.error_curve(errors.values, ranks)
    augrc, aurc = retention.r_auc(curve, "trapezoid"), selective.mean_selective_risk(curve)
    del curve
    f1_auc = f1_at_95 = math.nan
    if errors.acceptable is not None:
        f1 = retention.f_curve(errors.values, ranks, errors.acceptable, convention=rules.convention)
        f1_auc = retention.f_auc(f1, rules.convention)
        if math.isfinite(f1_auc):  # where nothing is acceptable F does not exist, not even with nothing retained
            f1_at_95 = retention.f_at(f1, convention=rules.convention)
        del f1
    optimal, optimal_aurc = errors.optimal
    f1_random, f1_optimal = errors.f1_references
    return Figures(
        n=len(ranks),
        error=errors.mean,
        r_auc=area,
        r_auc_random=errors.mean / 2,
        r_auc_optimal=optimal,
        prr=retention.rejection_ratio(area, errors.mean / 2, optimal),
        f1_auc=f1_auc,
        f1_auc_random=f1_random,
        f1_auc_optimal=f1_optimal,
        f1_at_95=f1_at_95,
        roc_auc=math.nan if shifted is None else detection.roc_auc(shifted, ranks),
        aupr=math.nan if shifted is None else detection.aupr(shifted, ranks),
        aurc=aurc,
        e_aurc=aurc - optimal_aurc,
        augrc=augrc,
    )


def operating_points(
    errors: Errors, uncertainty: Floats | Ranking, retentions: Sequence[float]
) -> tuple[OperatingPoint, ...]:
    """Return the curves at some retentions in [0, 1]; errors as ``figures``.

    Raises:
        ValueError: a retention outside [0, 1].
    """
    ranks, convention = ranking(uncertainty), errors.rules.convention
    curve = retention.error_curve(errors.values, ranks, group_ties=errors.rules.groups_ties)
    error = [retention.error_at(curve, share) for share in retentions]
    del curve
    f1 = [math.nan] * len(retentions)
    if errors.acceptable is not None:
        curve = retention.f_curve(errors.values, ranks, errors.acceptable, convention=convention)
        f1 = [retention.f_at(curve, share, convention) for share in retentions]
    return tuple(
        OperatingPoint(share, value, value / share if share else math.nan, at)
        for share, value, at in zip(retentions, error, f1, strict=True)
    )
