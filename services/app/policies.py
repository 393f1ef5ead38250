"""Policies of a process at its start: measures, audit strata, and policies of other numeric profiles."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from models.artefact import Artefact
from models.calibration import Calibration
from models.head import Head
from services.ledger.tables import PROFILE_CHARACTERS
from services.policy.changes import stratified
from services.policy.decision import Policy
from services.policy.log import Bound
from services.policy.sync import Carry
from services.qualification.policies import carried_policy
from services.qualification.tables import ANSWERING, Tables, reference
from services.runtime.logging import get_logger
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError

_log = get_logger(__name__)


def by_measure(tables: Tables, measures: Mapping[str, str]) -> dict[str, Calibration | None]:
    """Return the calibration of each head, for its deferral measure."""
    return {
        name: None if calibration is None else calibration.by(measures.get(name, ""))
        for name, calibration in tables.by_head.items()
    }


def stream_name(artefact: Artefact, measure: str, tables: Tables) -> str:
    """Return the name of the stream that a head's units are written to.

    Scores of different measures or profiles are never mixed, nor those of a profile that was not qualified yet with
    later ones.
    """
    marks = [measure] if measure else []
    if tables.origin != "artefact":
        marks += [tables.profile.name] + ["unqualified"] * (tables.origin not in ANSWERING)
    return "@".join([artefact.tag, *marks])


def provisional(tables: Tables, chosen: Iterable[Policy]) -> list[str]:
    """Return the heads that defer everything because this process's device was not qualified, or not yet."""
    if tables.origin in ANSWERING:
        return []
    return [policy.head for policy in chosen if policy.mode == "defer_all"]


def carrying(tables: Tables, bound: Bound, audit_floor: float) -> Carry | None:
    """Return the conversion of policies of other numeric profiles to this one; None if none are carried over."""
    if tables.record is None or tables.origin not in ANSWERING:
        return None
    record = tables.record

    def carry(policy: Policy) -> tuple[Policy, str]:
        calibration = tables.by_head.get(policy.head)
        moved, done = carried_policy(policy, record, calibration, bound.profile)
        return (stratified(moved, calibration, audit_floor) if policy.audit_strata else moved), done

    return carry


def profile_with_measures(numeric: str, measures: Mapping[str, str]) -> str:
    """Return the profile that policies are bound to; it includes measures, since policies hold for one measure."""
    text = ",".join([numeric, *(f"{head}={measure}" for head, measure in sorted(measures.items()))])
    if len(text) <= PROFILE_CHARACTERS:
        return text
    return f"{numeric},measures={hashlib.sha256(text.encode()).hexdigest()[:12]}"


def check_settings(settings: Settings, artefact: Artefact, heads: Sequence[Head]) -> None:
    """Check the settings of measures and thresholds against the artefact.

    Raises:
        SettingsError: an unknown head, a measure that was not calibrated, or one threshold for several heads.
    """
    by_name = {head.name: head for head in heads}
    for name, measure in settings.measure_by_head.items():
        if name not in by_name:
            raise SettingsError(f"DEMUR_MEASURES names the head {name!r}; this model has {', '.join(by_name)}")
        calibrations = reference(artefact)[name]
        own = by_name[name].own_measure(artefact.manifest.ensemble)
        known = sorted({own, *(() if calibrations is None else calibrations.others)})
        if measure not in known:
            raise SettingsError(
                f"DEMUR_MEASURES: {artefact.tag} was not calibrated for {name}={measure}; use one of {', '.join(known)}"
            )
    if settings.fixed_threshold is not None and len(heads) > 1:
        raise SettingsError(
            f"DEMUR_FIXED_THRESHOLD = {settings.fixed_threshold:g} does not say for which of {', '.join(by_name)}; "
            "leave it out and set each head's with `demur policy set --head`"
        )


def with_audit_strata(policy: Policy, calibration: Calibration | None, settings: Settings) -> Policy:
    """Return the policy with audit rates by uncertainty if settings ask for them and the artefact allows them."""
    if settings.audits == "uniform" or policy.mode == "defer_all":
        return policy
    with_strata = stratified(policy, calibration, settings.audit_floor)
    if not with_strata.audit_strata:
        _log.warning("the artefact has no expected errors of %s: audits are uniform", policy.measure)
    return with_strata
