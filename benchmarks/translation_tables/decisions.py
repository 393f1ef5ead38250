"""What becomes of lines under the policy that a service has unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.translation_tables.judge import Judged
from benchmarks.translation_tables.kept import Kept
from benchmarks.translation_tables.plan import ENSEMBLE, RETENTION, SERVED
from models.artefact import numeric_profile
from models.tasks.translation.artefact import calibration as calibrating
from models.tasks.translation.artefact.ensemble import executor
from models.tasks.translation.spec import HYPOTHESES
from services.policy.decision import Decision, Policy, Shift, choose, decide

_NO_REMARKS = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Decided:
    """Lines of a row: shares from 0 to 1, errors in GLEU points; NaN of no lines."""

    lines: int
    left_out: int
    """Lines without an English sentence: handed back as they came."""
    deferred: float
    error: float
    answered_error: float
    deferred_error: float
    acceptable: float
    """Share of lines whose error is acceptable ..."""
    answered_acceptable: float
    """... of those answered ..."""
    deferred_acceptable: float
    """... and of those deferred."""
    unfamiliar: float
    """Share whose knowledge uncertainty is above 99.9 % of in-domain sentences."""


def policy(calibration: Kept, retention: float = RETENTION) -> Policy:
    """As an artefact of these members leads a service to it: by held-out sentences of the calibration half."""
    whole = calibration.take(calibration.whole)
    judged = calibrating.Judged(
        tuple(pair.english for pair in whole.pairs), tuple(whole.references), whole.translations
    )
    return choose(
        HYPOTHESES,
        calibrating.calibration(judged),
        model=ENSEMBLE,
        profile=numeric_profile([executor(SERVED)]),
        ensemble=True,
        target_retention=retention,
    )


def decided(one: Judged, under: Policy) -> Decided:
    """All lines of a row; a line is one unit, whatever sentences it has."""
    verdict = decide(under, HYPOTHESES, one.kept.predictive, _NO_REMARKS)
    answered = np.asarray(verdict.decisions == Decision.ANSWER)
    good = one.errors <= (HYPOTHESES.acceptable or 0.0)
    return Decided(
        lines=len(one),
        left_out=one.kept.given - len(one),
        deferred=1 - _mean(answered),
        error=_mean(one.errors),
        answered_error=_mean(one.errors[answered]),
        deferred_error=_mean(one.errors[~answered]),
        acceptable=_mean(good),
        answered_acceptable=_mean(good[answered]),
        deferred_acceptable=_mean(good[~answered]),
        unfamiliar=_mean((verdict.shifts & Shift.KNOWLEDGE_ABOVE_REFERENCE) != 0),
    )


def answered_as_calibrated(held: Mapping[str, Judged], calibration: Kept, under: Policy) -> float:
    """Share that is answered, 0 to 1, of held-out lines like those that calibrate: of one sentence, each domain with
    its share there.

    Args:
        held: domain to its lines.
    """
    domains = [pair.domain for pair in calibration.take(calibration.whole).pairs]
    return sum(
        domains.count(name) / len(domains) * (1 - decided(Judged(one.kept.take(one.kept.whole)), under).deferred)
        for name, one in held.items()
    )


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
