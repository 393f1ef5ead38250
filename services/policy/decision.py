"""From a measure to a decision, under a versioned policy that is bound to an artefact and its numeric profile."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum, IntFlag
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models import plausibility, uncertainty
from models.calibration import Calibration
from models.head import Head
from models.predictive import Predictive

Audits = Literal["uniform", "stratified"]
Mode = Literal["target_retention", "fixed", "certified", "defer_all"]
DEFER_ALL = float("-inf")


class Decision(IntEnum):
    """What was decided for a unit; the values are those of the wire."""

    ANSWER = 1
    DEFER = 2
    CALLER_DEFERRED = 3


class Shift(IntFlag):
    """Why a unit looks unlike what the model can answer; the values are those of the wire."""

    OUTSIDE_TRAINING_RANGE = 1
    KNOWLEDGE_ABOVE_REFERENCE = 2
    IMPOSSIBLE_PREDICTION = 4
    """The prediction lies where the target cannot: the unit is deferred, whatever the policy says."""
    UNLIKELY_INPUTS = 8
    """Each input is familiar, their combination is not."""


_IMPOSSIBLE = np.uint8(Shift.IMPOSSIBLE_PREDICTION)


@dataclass(frozen=True)
class Policy:
    """Who is answered, for one head of one artefact. ``threshold`` is compared in float32."""

    head: str
    model: str
    """Tag of the artefact that the threshold was calibrated for."""
    profile: str
    """Numeric profile (provider, precision, layout) that the threshold is bound to; see ``split_profile``."""
    measure: str
    threshold: float
    mode: Mode
    target_retention: float = 0.0
    retention_band: float = 0.0
    """Realised in-domain retention is within this of the target with 95 % confidence."""
    calibration_units: int = 0
    knowledge_measure: str | None = None
    knowledge_reference: float | None = None
    """Above this the knowledge measure counts as shifted; None where the model has no such measure."""
    defer_on_shift: bool = False
    withhold: bool = False
    """True hides the predictions of deferred units."""
    reason: str = ""
    """Why everything is deferred (mode ``defer_all``); else why the target is not the one that was asked for, or where
    the threshold comes from, unless it is the artefact's own."""
    audit_rate: float = 0.01
    """Probability that a label is requested for a unit within the threshold."""
    audit_strata: tuple[tuple[float, float], ...] = ()
    """(uncertainty, probability) with ascending uncertainties: of units up to each; above the last it is the rate."""
    certificate: str = ""
    """JSON of what certified the threshold, where the mode is ``certified``."""

    @property
    def audits(self) -> Audits:
        """How labels are drawn among answered units."""
        return "stratified" if self.audit_strata else "uniform"

    @cached_property
    def version(self) -> str:
        """Head and twelve hex digits over all fields: equal policies have equal versions on every replica."""
        text = "\n".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return f"{self.head}-{digest}"


@dataclass(frozen=True)
class Verdict:
    """A policy applied to units [n] of its head."""

    policy: Policy
    uncertainty: NDArray[np.float32]
    """By which units were decided and are ranked: infinite where the prediction is impossible."""
    decisions: NDArray[np.uint8]
    """Values of ``Decision``."""
    shifts: NDArray[np.uint8]
    """Bits of ``Shift``."""
    raw: NDArray[np.float32] | None = None
    """The measure as it was computed; None where ``uncertainty`` is that."""

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """True for units [n] whose prediction the policy keeps from the caller."""
        hidden: NDArray[np.bool_] = self.decisions == Decision.DEFER
        return hidden & self.policy.withhold


def split_profile(profile: str) -> tuple[str, str]:
    """Return the name of the numeric profile that a policy is bound to, and the measures that settings choose.

    Args:
        profile: as in ``Policy.profile``; measures, where settings choose some, are behind a comma.
    """
    numeric, _, measures = profile.partition(",")
    return numeric, measures


def choose(
    head: Head,
    calibration: Calibration | None,
    *,
    model: str,
    profile: str,
    ensemble: bool,
    target_retention: float,
    measure: str | None = None,
    fixed_threshold: float | None = None,
    defer_on_shift: bool = False,
    withhold: bool = False,
    audit_rate: float = 0.01,
    origin: str = "",
) -> Policy:
    """Return the policy that settings and an artefact's calibration amount to.

    Without a fixed threshold, and without calibration under this profile, nothing is certifiable: all units are
    deferred, and the policy says why. A target that only more calibration units could reach is replaced by the nearest
    one that these allow, which the policy names as its target, and why.

    Args:
        measure: to defer by; None for the head's own.
        origin: how the calibration came to this profile, or why there is none; empty for the artefact's own.

    Raises:
        NeedsLabel: a measure that is computed with the label.
    """
    measure = measure or head.own_measure(ensemble)
    for name in filter(None, (measure, head.knowledge_measure)):
        uncertainty.refuse_labelled(name)
    policy = Policy(
        head=head.name,
        model=model,
        profile=profile,
        measure=measure,
        threshold=DEFER_ALL,
        mode="defer_all",
        defer_on_shift=defer_on_shift,
        withhold=withhold,
        audit_rate=audit_rate,
    )
    if calibration is not None and ensemble and head.knowledge_measure is not None:
        limit = calibration.reference_limit(head.knowledge_measure, 0.999)
        policy = replace(policy, knowledge_measure=head.knowledge_measure, knowledge_reference=limit)
        if limit is None and defer_on_shift and origin:
            why = f"{head.knowledge_measure} was refused, so nobody knows which units are unfamiliar: {origin}"
            return replace(policy, reason=why)
    if fixed_threshold is not None:
        return replace(policy, threshold=fixed_threshold, mode="fixed")
    policy = replace(policy, target_retention=target_retention)
    if calibration is None:
        return replace(policy, reason=origin or f"no calibration under the numeric profile {profile}")
    table = calibration.retention
    if table.measure != measure:
        return replace(policy, reason=f"calibrated for the measure {table.measure}, not for {measure}")
    if (nearest := table.nearest(target_retention)) is not None:
        short = f"a target retention of {target_retention:g} needs more than {table.units} calibration units"
        policy = replace(policy, target_retention=nearest, reason=f"{short}; they allow {nearest:g}")
    try:
        threshold = table.threshold(policy.target_retention)
    except ValueError as error:
        return replace(policy, reason=str(error))
    return replace(
        policy,
        threshold=threshold,
        mode="target_retention",
        retention_band=table.band(),
        calibration_units=table.units,
        reason="; ".join(filter(None, (policy.reason, origin))),
    )


@dataclass(frozen=True, slots=True)
class Scored:
    """Units [n] of one head, measured as a policy wants it."""

    policy: Policy
    uncertainty: NDArray[np.float32]
    knowledge: NDArray[np.float32] | None
    """None where the policy has no reference for it."""
    impossible: NDArray[np.bool_] | None
    """Which predictions are impossible; None: none."""


def score(policy: Policy, head: Head, predictive: Predictive) -> Scored:
    """Measure the units of one head."""
    u, impossible = _scores(predictive, policy.measure), plausibility.impossible(head, predictive)
    if policy.knowledge_measure is None or policy.knowledge_reference is None:
        return Scored(policy, u, None, impossible)
    return Scored(policy, u, _scores(predictive, policy.knowledge_measure), impossible)


def decide(
    policy: Policy, head: Head, predictive: Predictive, shifts: NDArray[np.uint8], defer_above: float | None = None
) -> Verdict:
    """Scores and decides the units of one head; arguments as ``settle``."""
    return settle(score(policy, head, predictive), shifts, defer_above)


def settle(scored: Scored, shifts: NDArray[np.uint8], defer_above: float | None = None) -> Verdict:
    """Decide units that were scored. An impossible prediction is deferred: its score counts as infinite.

    Args:
        shifts: bits already found on the inputs, or on outputs by the task, uint8 [n]; empty for none.
        defer_above: the caller's own, stricter threshold.
    """
    policy, u = scored.policy, scored.uncertainty
    bits = shifts if len(shifts) else np.zeros(len(u), np.uint8)
    if scored.knowledge is not None and policy.knowledge_reference is not None:
        unfamiliar = ~(scored.knowledge <= _float32(policy.knowledge_reference))  # NaN is unfamiliar
        bits = bits | (unfamiliar * np.uint8(Shift.KNOWLEDGE_ABOVE_REFERENCE))
    if scored.impossible is not None:
        bits = bits | (scored.impossible * _IMPOSSIBLE)
    raw = None
    if np.bitwise_or.reduce(bits) & _IMPOSSIBLE:
        possible = (bits & _IMPOSSIBLE) == 0
        raw, u = u, np.where(possible, u, np.float32(np.inf))
    answered = u <= _float32(policy.threshold)  # NaN compares false: it defers
    if raw is not None:
        answered &= possible  # also under a threshold that is infinite
    if policy.defer_on_shift:
        answered &= bits == 0
    decisions = np.where(answered, np.uint8(Decision.ANSWER), np.uint8(Decision.DEFER))
    if defer_above is not None:
        decisions[answered & ~(u <= _float32(defer_above))] = Decision.CALLER_DEFERRED
    return Verdict(policy, u, decisions, bits, raw)


def _scores(predictive: Predictive, measure: str) -> NDArray[np.float32]:
    """Return the measure as it is compared; statistics in float64 beyond the range of float32 are infinite."""
    with np.errstate(over="ignore"):
        return uncertainty.score(predictive, measure).astype(np.float32, copy=False)


@lru_cache(maxsize=1024)
def _float32(value: float) -> np.float32:
    """As scores are compared; beyond the range of float32 it is infinite."""
    with np.errstate(over="ignore"):
        return np.float32(value)


class PolicyBook:
    """The policies in force, one per head; a unit is decided by the one that is in force when it is."""

    def __init__(self, policies: Mapping[str, Policy]) -> None:
        self._policies = dict(policies)

    def __getitem__(self, head: str) -> Policy:
        return self._policies[head]

    def __contains__(self, head: str) -> bool:
        return head in self._policies

    def put(self, policy: Policy) -> None:
        """Put a policy in force for its head."""
        self._policies[policy.head] = policy

    def all(self) -> tuple[Policy, ...]:
        return tuple(self._policies.values())
