"""All retention figures of one error under one uncertainty, for tables and monitors."""

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
    """Rules for areas: a convention, and the behaviour of the task's released code if the convention leaves it open."""

    convention: Convention = OFFICIAL
    released_area: Area = "mean"
    released_groups_ties: bool = True
    """True if the released error curve shares the errors of tied units; the paper's text knows no ties, and shares."""

    @property
    def area(self) -> Area:
        return self.convention.area or self.released_area

    @property
    def groups_ties(self) -> bool:
        return self.released_groups_ties or self.convention.f_ties_share


@dataclass(frozen=True, slots=True)
class Figures:
    """Retention figures; NaN if a figure does not exist (no acceptable limit, one domain only, constant errors)."""

    n: int
    error: float
    """Mean error of all units, in the error's unit; areas have the same unit."""
    r_auc: float
    r_auc_random: float
    r_auc_optimal: float
    prr: float
    """Prediction rejection ratio, from 0 at random to 1 at the optimal ranking (the released code prints per cent)."""
    f1_auc: float
    f1_auc_random: float
    f1_auc_optimal: float
    f1_at_95: float
    roc_auc: float
    """Area under the ROC curve of detecting shifted units, 0 to 1; ``aupr`` likewise."""
    aupr: float
    aurc: float
    e_aurc: float
    augrc: float


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Errors and F1 at one retention."""

    retention: float
    error: float
    """Error of the answered units, summed and divided by all n: the value of the error-retention curve."""
    answered_error: float
    """Mean error of the answered units (selective risk); NaN if nothing is answered."""
    f1: float
    """F1 score; NaN without an acceptable limit."""


@dataclass(frozen=True)
class Errors:
    """Errors of n units, with figures that do not depend on an uncertainty.

    They are computed once and used for many measures.
    """

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
        """F1-AUC of the random and of the optimal ranking; NaN without a limit."""
        if self.acceptable is None:
            return math.nan, math.nan
        convention = self.rules.convention
        random = retention.random_f_curve(self.values, self.acceptable, convention=convention)
        area = retention.f_auc(random, convention)
        del random
        optimal = retention.optimal_f_curve(self.values, self.acceptable, convention=convention)
        return area, retention.f_auc(optimal, convention)


def figures(errors: Errors, uncertainty: Floats | Ranking, shifted: NDArray[np.bool_] | None = None) -> Figures:
    """Return all figures of a measure [n]; uses at most twice the memory of the inputs in addition.

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
        if math.isfinite(f1_auc):  # if nothing is acceptable F does not exist, not even with nothing retained
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
    """Return the points of the curves at retentions in [0, 1]; errors as ``figures``.

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
