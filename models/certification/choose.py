"""Choice of a threshold and its certificate for a goal: the entry point for commands and services."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.certification.capacity import within_capacity
from models.certification.certificate import About, Certificate, Finding, fingerprint
from models.certification.cost import Costs, cheapest
from models.certification.crc import control
from models.certification.retention import target_retention
from models.certification.selective_risk import certify, certify_from_log
from models.certification.units import Floats, Units, answered


@dataclass(frozen=True)
class SelectiveRisk:
    """Goal: mean loss of the answered units at most ``alpha``, with confidence 1 - delta."""

    alpha: float
    delta: float = 0.05
    acceptable: float | None = None
    """Error above which the loss is 1, else 0; None if errors are losses in [0, bound]."""
    bound: float = 1.0


@dataclass(frozen=True)
class JointRisk:
    """Goal: mean loss of all units, deferred units counted as 0, at most ``alpha`` in expectation."""

    alpha: float
    acceptable: float | None = None
    bound: float = 1.0


@dataclass(frozen=True)
class TargetRetention:
    """Goal: share of answered units at least this, in expectation."""

    retention: float
    delta: float = 0.05


@dataclass(frozen=True)
class Capacity:
    """Goal: at most ``per_hour`` of ``arrivals_per_hour`` units deferred, in expectation."""

    per_hour: float
    arrivals_per_hour: float
    delta: float = 0.05


@dataclass(frozen=True)
class LeastCost:
    """Goal: answer if the expected cost is no more than that of a review."""

    costs: Costs
    acceptable: float | None = None


Goal = SelectiveRisk | JointRisk | TargetRetention | Capacity | LeastCost


@dataclass(frozen=True)
class Chosen:
    """Chosen threshold; without a threshold everything is deferred."""

    threshold: float | None
    """Largest score that is answered, in float32 or in double precision."""
    retention: float
    """Share of the units answered at the threshold; 0 without one."""
    certificate: Certificate | None
    reason: str
    """Reason why there is no threshold, and what would help; empty with one."""


def choose(units: Units, goal: Goal, about: About, unlabelled: Floats | None = None) -> Chosen:
    """Choose the loosest threshold that meets the goal (for a capacity: the strictest), from n units.

    Units with propensities are a log of decisions, for which only certified selective risk, retention and capacity are
    possible.

    Args:
        unlabelled: more scores of the same law, for the candidates of certified risk.

    Raises:
        ValueError: a goal outside its range, or units that lack required columns; the message names them.
    """
    finding = _find(units, goal, unlabelled)
    retention = float(np.mean(answered(units.scores, finding.threshold)))
    if finding.threshold is None:
        return Chosen(None, 0.0, None, finding.reason)
    issued = about.issued
    certificate = Certificate(
        procedure=finding.procedure,
        statement=finding.statement,
        measure=about.measure,
        data=fingerprint(units),
        fold=about.fold,
        n=finding.units,
        issued=issued.isoformat(),
        expires=(issued + about.valid).isoformat(),
        alpha=getattr(goal, "alpha", None),
        delta=getattr(goal, "delta", None),
        retention=getattr(goal, "retention", None),
        error=about.error if isinstance(goal, SelectiveRisk | JointRisk | LeastCost) else None,
        acceptable=getattr(goal, "acceptable", None),
        bound=getattr(goal, "bound", None),
        model=about.model,
        group=about.group,
        answered=finding.answered,
        loss=finding.loss,
        pvalue=finding.pvalue,
        low=finding.low,
        high=finding.high,
    )
    return Chosen(finding.threshold, retention, certificate, "")


def _find(units: Units, goal: Goal, unlabelled: Floats | None) -> Finding:
    if isinstance(goal, SelectiveRisk):
        if units.propensity is not None:
            return certify_from_log(units, goal.alpha, goal.delta, acceptable=goal.acceptable, bound=goal.bound)
        return certify(
            units, goal.alpha, goal.delta, acceptable=goal.acceptable, bound=goal.bound, unlabelled=unlabelled
        )
    procedure: dict[type, Callable[[Any], Finding]] = {
        JointRisk: lambda g: control(units, g.alpha, acceptable=g.acceptable, bound=g.bound),
        TargetRetention: lambda g: target_retention(units, g.retention, g.delta),
        Capacity: lambda g: within_capacity(units, g.per_hour, g.arrivals_per_hour, g.delta),
        LeastCost: lambda g: cheapest(units, g.costs, acceptable=g.acceptable),
    }
    return procedure[type(goal)](goal)
