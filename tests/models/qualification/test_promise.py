"""Certificates: what is added to a risk, and when they are void."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from models.certification.certificate import About
from models.certification.choose import Capacity, Goal, JointRisk, LeastCost, SelectiveRisk, TargetRetention, choose
from models.certification.cost import Costs
from models.certification.units import units
from models.qualification.intervals import MeansVerdict
from models.qualification.promise import CarriedCertificate, carried_certificate
from models.qualification.replayed import lower_limit, replayed, upper_limit
from models.qualification.threshold import JOINT, CarriedThreshold, carry

RNG = np.random.default_rng(12)
SCORES = RNG.random(6000)
ERRORS = (RNG.random(6000) < 0.2 * SCORES).astype(np.float64)


def certified(goal: Goal, errors: Any = ERRORS, **about: Any) -> tuple[float, dict[str, Any]]:
    choice = choose(units(SCORES, errors), goal, About("u", date(2026, 11, 23), error="error", **about))
    assert choice.threshold is not None
    assert choice.certificate is not None
    return choice.threshold, choice.certificate.plain()


def at(threshold: float, noise: float = 1e-6) -> CarriedThreshold:
    return carry(replayed(SCORES, SCORES + noise * np.random.default_rng(1).normal(size=6000)), threshold, 1.0)


def carried(text: dict[str, Any], threshold: CarriedThreshold, means: MeansVerdict | None = None) -> CarriedCertificate:
    return carried_certificate(text, threshold, profile="new", reference_profile="old", means=means)


def test_selective_risk_grows_by_what_may_be_newly_answered_and_lost_over_the_answered() -> None:
    threshold, text = certified(SelectiveRisk(0.1))
    counts = at(threshold)
    result = carried(text, counts)
    assert result.certificate is not None
    newly, lost = upper_limit(counts.newly, 6000, JOINT), upper_limit(counts.lost, 6000, JOINT)
    answered = lower_limit(counts.answered, 6000, JOINT)
    assert result.certificate["alpha"] == pytest.approx(0.1 + (0.1 * lost + newly) / answered)
    assert 0.1 < result.certificate["alpha"] < 0.102
    assert result.certificate["delta"] == pytest.approx(0.1)
    assert (result.certificate["profile"], result.certificate["measure"]) == ("new", "u")
    assert result.certificate["carried"]["alpha"] == 0.1
    assert "carried from old to new: selective risk at most 0.10" in result.certificate["statement"]
    assert json.loads(json.dumps(result.certificate)) == result.certificate


def test_joint_risk_grows_by_what_may_be_newly_answered() -> None:
    threshold, text = certified(JointRisk(0.05))
    counts = at(threshold)
    result = carried(text, counts)
    assert result.certificate is not None
    assert result.certificate["alpha"] == pytest.approx(0.05 + upper_limit(counts.newly, 6000, JOINT))
    assert result.certificate["delta"] is None


def test_bounded_losses_count_by_their_bound() -> None:
    threshold, text = certified(JointRisk(0.1, bound=2.0), ERRORS * 2)
    counts = at(threshold)
    result = carried(text, counts)
    assert result.certificate is not None
    assert result.certificate["alpha"] == pytest.approx(0.1 + 2 * upper_limit(counts.newly, 6000, JOINT))


@pytest.mark.parametrize("goal", [TargetRetention(0.8), Capacity(20, 100)])
def test_promises_of_retention_say_what_may_be_lost(goal: Goal) -> None:
    threshold, text = certified(goal)
    counts = at(threshold)
    result = carried(text, counts)
    assert result.certificate is not None
    newly, lost, _ = counts.joint
    assert f"at most {lost:.3g} of all units fewer are answered" in result.certificate["statement"]
    assert result.certificate["low"] == pytest.approx(text["low"] - lost)
    assert result.certificate["high"] == pytest.approx(min(1.0, text["high"] + newly))
    if text["retention"] is not None:
        assert result.certificate["retention"] == pytest.approx(0.8 - lost)
    if text["delta"] is not None:
        assert result.certificate["delta"] == pytest.approx(text["delta"] + 0.05)


def test_a_promise_of_retention_falls_though_no_replayed_unit_is_lost() -> None:
    threshold, text = certified(TargetRetention(0.8))
    result = carried(text, replace(at(threshold, 0.0), lost=0))
    assert result.certificate is not None
    assert result.certificate["retention"] == pytest.approx(0.8 - upper_limit(0, 6000, JOINT))


def test_unbounded_errors_are_void_unless_nothing_flips() -> None:
    threshold, text = certified(LeastCost(Costs(1.0, 0.1)), ERRORS)
    moved = replace(at(threshold), newly=0, lost=1)
    assert (
        "losses have no bound, and of 6000 units 0 are newly answered and 1 newly deferred"
        in carried(text, moved).reason
    )
    assert carried(text, moved).certificate is None
    still = carried(text, at(threshold, 0.0))
    assert still.certificate is not None
    few = replace(at(threshold), newly=0, lost=0, units=300, predicted=0.0)
    assert carried(text, few).certificate is None  # of 300 units none flipping says little


@pytest.mark.parametrize("verdict", ["mapped", "refused"])
def test_thresholds_that_are_not_carried_void_their_certificate(verdict: Any) -> None:
    threshold, text = certified(SelectiveRisk(0.1))
    result = carried(text, replace(at(threshold), verdict=verdict, reason="why"))
    assert (result.certificate, result.reason) == (None, f"certificate void: its threshold is {verdict}: why")


def test_groups_are_void() -> None:
    threshold, text = certified(SelectiveRisk(0.1), group="atlas")
    assert "one group" in carried(text, at(threshold)).reason


def test_means_that_move_add_to_losses_of_a_limit_or_void() -> None:
    threshold, text = certified(SelectiveRisk(0.1, acceptable=0.5))
    plain = carried(text, at(threshold)).certificate
    moved = carried(text, at(threshold), MeansVerdict("carried", 1e-4, 1e-3, 0.1, "")).certificate
    assert plain is not None
    assert moved is not None
    assert moved["alpha"] - plain["alpha"] == pytest.approx(
        3 * 0.8 * 1e-4 / lower_limit(at(threshold).answered, 6000, JOINT)
    )
    void = carried(text, at(threshold), MeansVerdict("mapped", 0.02, 0.05, 0.1, "means move"))
    assert void.reason == "certificate void: means move"


def test_losses_without_a_limit_change_with_means_and_void() -> None:
    """Absolute errors up to 100: how far a mean moves for other units has no bound."""
    threshold, text = certified(JointRisk(0.1, bound=100.0), ERRORS * 2)
    moved = carried(text, at(threshold), MeansVerdict("carried", 1e-4, 1e-3, 0.1, ""))
    assert moved.reason == (
        "certificate void: its losses have no largest acceptable error, and change where means move"
    )
    assert carried(text, at(threshold), MeansVerdict("carried", 0.0, 0.0, 0.0, "")).certificate is not None


def test_a_promise_that_grows_to_the_largest_loss_is_void() -> None:
    threshold, text = certified(SelectiveRisk(0.1))
    result = carried(text, replace(at(threshold), joint=(0.9, 0.9, 0.9)))
    assert "is not below the largest loss, 1" in result.reason


def test_a_certificate_of_the_new_profile_stays_as_it_is() -> None:
    threshold, text = certified(SelectiveRisk(0.1))
    bound = text | {"profile": "new"}
    assert carried(bound, replace(at(threshold), verdict="refused")).certificate == bound
