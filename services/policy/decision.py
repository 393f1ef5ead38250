"""Decisions: a measure is compared with a versioned policy, bound to an artefact and its numeric profile."""

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
    """Decision for a unit; the values are those of the wire.

    Compare arrays with ``.value``: NumPy takes five times as long to compare with a member of an enumeration.
    """

    ANSWER = 1
    DEFER = 2
    CALLER_DEFERRED = 3


class Shift(IntFlag):
    """Reasons why a unit looks unlike the training data; the values are those of the wire."""

    OUTSIDE_TRAINING_RANGE = 1
    KNOWLEDGE_ABOVE_REFERENCE = 2
    IMPOSSIBLE_PREDICTION = 4
    """The prediction is outside the possible values of the target; the unit is deferred under any policy."""
    UNLIKELY_INPUTS = 8
    """Each input is familiar, but not their combination."""


_IMPOSSIBLE, _UNFAMILIAR = np.uint8(Shift.IMPOSSIBLE_PREDICTION), np.uint8(Shift.KNOWLEDGE_ABOVE_REFERENCE)
_ANSWER, _DEFER = np.uint8(Decision.ANSWER), np.uint8(Decision.DEFER)


@dataclass(frozen=True)
class Policy:
    """Policy of one head of one artefact: answer units up to ``threshold``, which is compared in float32."""

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
    """Half-width of the 95 % confidence band of realised in-domain retention around the target."""
    calibration_units: int = 0
    knowledge_measure: str | None = None
    knowledge_reference: float | None = None
    """Limit of the knowledge measure above which a unit is marked as shifted; None if the model has no such measure."""
    defer_on_shift: bool = False
    withhold: bool = False
    """True if the predictions of deferred units are hidden."""
    reason: str = ""
    """Reason why everything is deferred (mode ``defer_all``), why the target differs from the requested one, or where
    the threshold comes from if not from the artefact.
    """
    audit_rate: float = 0.01
    """Probability that a label is requested for a unit within the threshold."""
    audit_strata: tuple[tuple[float, float], ...] = ()
    """Pairs (upper uncertainty, probability) in ascending order; ``audit_rate`` applies above the last."""
    certificate: str = ""
    """JSON of the threshold's certificate, if the mode is ``certified``."""

    @property
    def audits(self) -> Audits:
        """Draw of labels among answered units: stratified or uniform."""
        return "stratified" if self.audit_strata else "uniform"

    @cached_property
    def version(self) -> str:
        """Head and twelve hex digits of a hash over all fields; equal policies have equal versions on every replica."""
        text = "\n".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return f"{self.head}-{digest}"


@dataclass(frozen=True)
class Verdict:
    """Result of a policy for units [n] of its head."""

    policy: Policy
    uncertainty: NDArray[np.float32]
    """Score that units are decided and ranked by; infinite if the prediction is impossible."""
    decisions: NDArray[np.uint8]
    """Values of ``Decision``."""
    shifts: NDArray[np.uint8]
    """Bits of ``Shift``."""
    raw: NDArray[np.float32] | None = None
    """Computed measure, before impossible predictions became infinite; None if ``uncertainty`` is the same."""

    def part(self, start: int, end: int) -> Verdict:
        """Return the result for units [start, end)."""
        units = slice(start, end)
        raw = None if self.raw is None else self.raw[units]
        return Verdict(self.policy, self.uncertainty[units], self.decisions[units], self.shifts[units], raw)

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """True for units [n] whose prediction is withheld from the caller."""
        hidden: NDArray[np.bool_] = self.decisions == Decision.DEFER.value
        return hidden & self.policy.withhold


def split_profile(profile: str) -> tuple[str, str]:
    """Return the name of the numeric profile that a policy is bound to, and the measures chosen by settings.

    Args:
        profile: as in ``Policy.profile``; measures chosen by settings follow a comma.
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
    """Return the policy that follows from settings and an artefact's calibration.

    Without a fixed threshold and without calibration under this profile, no threshold can be certified: all units are
    deferred, and the policy has the reason. A target that needs more calibration units is replaced by the nearest one
    that the available units allow; the policy has the new target and the reason.

    Args:
        measure: measure to defer by; None for the head's own.
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
    """Scores of units [n] of one head, by the measures of a policy."""

    policy: Policy
    uncertainty: NDArray[np.float32]
    knowledge: NDArray[np.float32] | None
    """Knowledge measure; None if the policy has no reference for it."""
    impossible: NDArray[np.bool_] | None
    """True for impossible predictions; None if there are none."""


def score(policy: Policy, head: Head, predictive: Predictive) -> Scored:
    """Compute the measures of one head's units."""
    u, impossible = _scores(predictive, policy.measure), plausibility.impossible(head, predictive)
    if policy.knowledge_measure is None or policy.knowledge_reference is None:
        return Scored(policy, u, None, impossible)
    return Scored(policy, u, _scores(predictive, policy.knowledge_measure), impossible)


def decide(
    policy: Policy, head: Head, predictive: Predictive, shifts: NDArray[np.uint8], defer_above: float | None = None
) -> Verdict:
    """Score and decide the units of one head; arguments as for ``settle``."""
    return settle(score(policy, head, predictive), shifts, defer_above)


def settle(scored: Scored, shifts: NDArray[np.uint8], defer_above: float | None = None) -> Verdict:
    """Decide scored units. An impossible prediction is deferred: its score counts as infinite.

    Args:
        shifts: bits already found on the inputs, or on outputs by the task, uint8 [n]; empty for none.
        defer_above: stricter threshold of the caller.
    """
    policy, u = scored.policy, scored.uncertainty
    bits = shifts if len(shifts) else np.zeros(len(u), np.uint8)
    if scored.knowledge is not None and policy.knowledge_reference is not None:
        unfamiliar = ~(scored.knowledge <= _float32(policy.knowledge_reference))  # NaN counts as unfamiliar
        bits = bits | (unfamiliar * _UNFAMILIAR)
    if scored.impossible is not None:
        bits = bits | (scored.impossible * _IMPOSSIBLE)
    raw = None
    if np.bitwise_or.reduce(bits) & _IMPOSSIBLE:
        possible = (bits & _IMPOSSIBLE) == 0
        raw, u = u, np.where(possible, u, np.float32(np.inf))
    answered = u <= _float32(policy.threshold)  # comparison with NaN is false: the unit is deferred
    if raw is not None:
        answered &= possible  # needed if the threshold is infinite
    if policy.defer_on_shift:
        answered &= bits == 0
    decisions = np.where(answered, _ANSWER, _DEFER)
    if defer_above is not None:
        decisions[answered & ~(u <= _float32(defer_above))] = Decision.CALLER_DEFERRED
    return Verdict(policy, u, decisions, bits, raw)


def _scores(predictive: Predictive, measure: str) -> NDArray[np.float32]:
    """Return the measure in float32, as it is compared; values beyond its range are infinite."""
    with np.errstate(over="ignore"):
        return uncertainty.score(predictive, measure).astype(np.float32, copy=False)


@lru_cache(maxsize=1024)
def _float32(value: float) -> np.float32:
    """Convert to float32, as scores are compared; values beyond its range are infinite."""
    with np.errstate(over="ignore"):
        return np.float32(value)


class PolicyBook:
    """Policies in force, one per head; a unit is decided by the policy in force at that time."""

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
