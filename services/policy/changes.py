"""Policy changes as pure functions, so that all replicas compute the same policy."""

import json
import math
from dataclasses import dataclass, fields, replace
from typing import get_args

import msgspec

from models.calibration import Calibration
from models.evaluation.generic import UNCERTAINTY
from services.policy.audit_draws import strata
from services.policy.decision import DEFER_ALL, Audits, Policy
from services.runtime.errors import InvalidInput
from services.runtime.ranges import allowed_range

AUDIT_RATES = allowed_range("audit_rate")
"""Least and largest audit rate, as for the setting; without labels, nothing is known of answered units."""
AUDITS: tuple[Audits, ...] = get_args(Audits)
AUTHOR_CHARACTERS, REASON_CHARACTERS = 128, 1000
"""Maximum lengths of author and reason of a change."""
MOST_CERTIFICATE_CHARACTERS = 1 << 18
"""Maximum length of a certificate; it is part of the policy's message, and gRPC callers take 4 MB by default."""


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """Change to the policy of one head; None keeps a field. At most one goal: retention, threshold or defer_all."""

    head: str
    expected: str = ""
    """Version of the policy that the change applies to; another one in force is a conflict. Empty: any version."""
    author: str = "anonymous"
    reason: str = ""
    target_retention: float | None = None
    """Share of in-domain units to answer; the threshold comes from the artefact's calibration."""
    threshold: float | None = None
    """Threshold in the unit of the head's measure."""
    defer_all: bool = False
    certificate: str = ""
    """Certificate as JSON, from ``demur calibrate``; set with its threshold."""
    audit_rate: float | None = None
    audits: Audits | None = None
    """Draw of labels among answered units; see ``services.policy.audit_draws.strata``."""
    defer_on_shift: bool | None = None
    withhold: bool | None = None


def changed(policy: Policy, change: PolicyChange, calibration: Calibration | None, audit_floor: float) -> Policy:
    """Return the policy with the change made; stratified audits follow a new rate or threshold.

    Args:
        calibration: of this head under the numeric profile in force; None if there is none.
        audit_floor: least rate of stratified audits, as a share of the rate.

    Raises:
        InvalidInput: nothing to change, an author or reason that cannot be kept, two goals, a goal out of its range, or
            one that the calibration cannot meet.
    """
    for name, most in (("author", AUTHOR_CHARACTERS), ("reason", REASON_CHARACTERS)):
        text = getattr(change, name)
        if len(text) > most or "\0" in text:
            raise InvalidInput.about(
                name,
                len(text),
                f"must have at most {most} characters, none of them NUL",
                code="out_of_range",
                unit="characters",
                allowed=f"[0, {most}]",
            )
    goals = [name for name in ("target_retention", "threshold") if getattr(change, name) is not None]
    goals += ["defer_all"] * change.defer_all
    if len(goals) > 1:
        raise InvalidInput(
            f"{' and '.join(goals)} are given; one of them makes a threshold", code="two_goals", field=goals[1]
        )
    if change.certificate and goals not in (["threshold"], ["defer_all"]):
        raise InvalidInput(
            "a certificate goes with the threshold that it certifies; give both", code="two_goals", field="certificate"
        )
    wishes = {name: getattr(change, name) for name in ("audit_rate", "defer_on_shift", "withhold")}
    if not goals and change.audits is None and all(wish is None for wish in wishes.values()):
        raise InvalidInput(
            "nothing is to be changed; give one of target_retention, threshold and defer_all, or some of audit_rate, "
            "audits, defer_on_shift and withhold",
            code="no_change",
        )
    least, largest = AUDIT_RATES
    if (rate := change.audit_rate) is not None and not least <= rate <= largest:
        raise InvalidInput.about(
            "audit_rate",
            f"{rate:g}",
            f"must be a share of the answered units from {least:g} to {largest:g}",
            code="out_of_range",
            allowed=f"[{least:g}, {largest:g}]",
            unit="1",
        )
    policy = replace(policy, **{name: wish for name, wish in wishes.items() if wish is not None})
    return _audited(_aimed(policy, change, calibration), change.audits, calibration, audit_floor)


def stratified(policy: Policy, calibration: Calibration | None, floor: float) -> Policy:
    """Return the policy with audit rates by uncertainty whose in-domain mean is its rate; uniform without such data."""
    rate = policy.audit_rate
    rates = () if calibration is None else strata(calibration, policy.threshold, rate, rate * floor, policy.measure)
    return replace(policy, audit_strata=rates)


def _aimed(policy: Policy, change: PolicyChange, calibration: Calibration | None) -> Policy:
    """Return the policy with the goal of the change, if it has one."""
    if change.target_retention is not None:
        return _retaining(policy, change.target_retention, calibration)
    if change.threshold is not None:
        return _at(policy, change.threshold, change.certificate)
    if change.defer_all:
        reason = change.reason or "set by hand"
        if change.certificate:
            _check_certificate(policy, change.certificate)
        return replace(_without_goal(policy), reason=reason, certificate=change.certificate)
    return policy


def _audited(policy: Policy, audits: str | None, calibration: Calibration | None, floor: float) -> Policy:
    """Return the policy with the requested kind of audits; strata are recomputed for the changed policy."""
    if audits not in (None, *AUDITS):
        raise InvalidInput.about("audits", audits, code="out_of_range", allowed=", ".join(AUDITS))
    if audits == "uniform":
        return replace(policy, audit_strata=())
    if audits is None and (not policy.audit_strata or policy.mode == "defer_all"):  # kept for later answers
        return policy
    policy_with_strata = stratified(policy, calibration, floor)
    if audits == "stratified" and not policy_with_strata.audit_strata:
        raise InvalidInput.about(
            "audits",
            audits,
            f"the artefact does not state the expected error of {policy.measure} below the threshold",
            code="no_calibration",
            advice="draw uniformly",
        )
    return policy_with_strata


def to_json(policy: Policy) -> str:
    """Return a policy as JSON for ledgers; every float is exact, including infinities."""
    return json.dumps({field.name: getattr(policy, field.name) for field in fields(policy)})


def from_json(text: str) -> Policy:
    """Return the policy of its JSON; fields added since then have their defaults.

    Raises:
        ValueError: the text is not a policy of this version.
    """
    try:
        content = json.loads(text)
        if isinstance(content, dict) and (unknown := sorted(content.keys() - {field.name for field in fields(Policy)})):
            raise ValueError(f"a policy with unknown fields ({', '.join(unknown)}): written by a newer version")
        return msgspec.convert(content, Policy)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"no policy: {error}") from error


def _retaining(policy: Policy, retention: float, calibration: Calibration | None) -> Policy:
    if calibration is None:
        raise InvalidInput.about(
            "target_retention",
            f"{retention:g}",
            f"the artefact has no calibration under the numeric profile {policy.profile}",
            code="no_calibration",
            advice="give a threshold",
        )
    table = calibration.retention
    if table.measure != policy.measure:
        raise InvalidInput(
            f"target_retention = {retention:g}: the artefact is calibrated for the measure {table.measure}, "
            f"not for {policy.measure}",
            code="no_calibration",
            field="target_retention",
        )
    try:
        threshold = table.threshold(retention)
    except ValueError as error:
        raise InvalidInput(
            str(error),
            code="out_of_range",
            field="target_retention",
            value=f"{retention:g}",
            allowed=f"(0, {table.levels[-1]:g}]",
        ) from error
    return replace(
        _without_goal(policy),
        mode="target_retention",
        threshold=threshold,
        target_retention=retention,
        retention_band=table.band(),
        calibration_units=table.units,
    )


def _at(policy: Policy, threshold: float, certificate: str) -> Policy:
    if math.isnan(threshold):
        raise InvalidInput.about(
            "threshold", "nan", f"must be a number in the unit of {policy.measure}", code="not_finite"
        )
    if not certificate:
        return replace(_without_goal(policy), mode="fixed", threshold=threshold)
    _check_certificate(policy, certificate)
    return replace(_without_goal(policy), mode="certified", threshold=threshold, certificate=certificate)


def _check_certificate(policy: Policy, text: str) -> None:
    """Check that a certificate is a storable JSON object; model, profile and measure must match if named."""
    if len(text) > MOST_CERTIFICATE_CHARACTERS:
        raise InvalidInput.about(
            "certificate", len(text), code="too_long", unit="characters", allowed=f"[2, {MOST_CERTIFICATE_CHARACTERS}]"
        )
    try:
        certificate = json.loads(text)
        msgspec.json.encode(certificate)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the certificate is not JSON: {error}", code="not_a_body", field="certificate") from error
    if not isinstance(certificate, dict):
        raise InvalidInput("the certificate is no JSON object", code="not_a_body", field="certificate")
    for name in ("model", "profile", "measure"):
        bound = certificate.get(name)
        if bound and bound not in (UNCERTAINTY, getattr(policy, name)):  # a column of this name may hold any measure
            in_force = str(getattr(policy, name))
            raise InvalidInput.about(
                "certificate",
                bound,
                f"must be for the {name} in force, {in_force}",
                code="foreign_certificate",
                allowed=in_force,
                advice="calibrate again",
            )


def _without_goal(policy: Policy) -> Policy:
    """Return the policy without a goal: it defers everything."""
    return replace(
        policy,
        mode="defer_all",
        threshold=DEFER_ALL,
        target_retention=0.0,
        retention_band=0.0,
        calibration_units=0,
        reason="",
        certificate="",
    )
