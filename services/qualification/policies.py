"""Policies that operators set under one numeric profile, carried over to another."""

import json
import math
from dataclasses import replace

from models.calibration import Calibration
from models.qualification import record as records
from models.qualification.record import Record
from services.policy.decision import DEFER_ALL, Policy, split_profile


def carried_policy(policy: Policy, record: Record, calibration: Calibration | None, profile: str) -> tuple[Policy, str]:
    """Return a policy carried over to the profile of a record, and a description of the change.

    A target retention gets the threshold of the carried table; any other threshold is carried by the scores of the
    record, if it was set under the profile that the record compares with. If nothing can be carried, or a certificate
    becomes void, everything is deferred.

    Args:
        calibration: calibration of the policy's head under the record's profile; None if there is none.
        profile: name of the profile that the policy is bound to from now on.
    """
    moved = replace(policy, profile=profile, audit_strata=())
    if calibration is not None and policy.knowledge_measure is not None:
        limit = calibration.reference_limit(policy.knowledge_measure, 0.999)
        moved = replace(moved, knowledge_reference=limit)
    if policy.mode == "defer_all":
        return moved, "everything stays deferred"
    if policy.defer_on_shift and policy.knowledge_reference is not None and moved.knowledge_reference is None:
        return _none(moved, f"{policy.knowledge_measure} says nothing of unfamiliar units under {record.profile_name}")
    source = record.reference_profile
    if policy.mode == "target_retention" and calibration is not None:
        try:
            threshold = calibration.by(policy.measure).retention.threshold(policy.target_retention)
        except ValueError as error:
            return _none(moved, f"carried over from {source}: {error}")
        done = f"{policy.measure} <= {threshold:g} instead of {policy.threshold:g}, calibrated under {source}"
        return replace(moved, threshold=threshold, reason=done), done
    if calibration is None:
        return _none(
            moved, f"{policy.head} is refused under {record.profile_name}: {record.heads[policy.head].sentence}"
        )
    if split_profile(policy.profile)[0] != source:
        return _none(
            moved,
            f"the threshold {policy.threshold:g} was set under {policy.profile}, whose scores were not compared with "
            "those of this profile: set it again, or a target retention",
        )
    if policy.measure not in record.heads[policy.head].measures:
        return _none(moved, f"{policy.measure} was not measured under {record.profile_name}")
    at = records.carried_threshold(record, policy.head, policy.measure, policy.threshold)
    if at.verdict == "refused" or not math.isfinite(at.carried):
        return _none(moved, f"the threshold {policy.threshold:g} of {source} does not hold here: {at.reason}")
    done = f"{policy.measure} <= {at.carried:g} instead of {policy.threshold:g}, {at.verdict} over from {source}"
    moved = replace(moved, threshold=at.carried, reason=done)
    if policy.mode != "certified":
        return moved, done
    kept = records.certificate(record, policy.head, policy.measure, policy.threshold, json.loads(policy.certificate))
    if kept.certificate is None:
        return _none(moved, f"{kept.reason}: certify again under {record.profile_name}, or set a threshold")
    return replace(moved, certificate=json.dumps(kept.certificate, sort_keys=True)), done


def _none(policy: Policy, reason: str) -> tuple[Policy, str]:
    """Return the policy that defers everything, and the reason."""
    none = replace(policy, mode="defer_all", threshold=DEFER_ALL, retention_band=0.0, calibration_units=0)
    return replace(none, target_retention=0.0, certificate="", reason=reason), reason
