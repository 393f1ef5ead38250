"""Decisions: float32, NaN, monotone in threshold and score, shifts, wishes; versions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from models.calibration import REFERENCE_LEVELS, Calibration, RetentionTable, retention_table
from models.head import Head
from models.predictive import Gaussian
from models.uncertainty import NeedsLabel
from services.policy.decision import Decision, Policy, PolicyBook, Shift, choose, decide

NONE = np.zeros(0, np.uint8)
HEAD = Head("power", "gaussian", "kW", "power, kW", "squared_error", "kW²", 1.0, "tvar", "variance", "varm")
scores = hnp.arrays(np.float32, st.integers(1, 8), elements=st.floats(width=32))
thresholds = st.floats(allow_nan=False)


def policy(threshold: float = 1.0, **rest: object) -> Policy:
    base = Policy("power", "m:1", "cpu-fp32-stacked", "mvar", threshold, "fixed")
    return replace(base, **rest)  # type: ignore[arg-type]


def spread(mvar: np.ndarray, varm: np.ndarray | None = None) -> Gaussian:
    return Gaussian(np.zeros_like(mvar), mvar, varm)


def decisions(rule: Policy, u: np.ndarray, wish: float | None = None, shifts: np.ndarray = NONE) -> list[int]:
    return decide(rule, HEAD, spread(u), shifts, wish).decisions.tolist()


@given(scores, thresholds)
def test_a_unit_is_answered_if_and_only_if_its_float32_score_is_not_above(u: np.ndarray, threshold: float) -> None:
    with np.errstate(over="ignore"):
        limit = np.float32(threshold)
    for decision, score in zip(decisions(policy(threshold), u), u, strict=True):
        assert decision == (Decision.ANSWER if score <= limit else Decision.DEFER)
        if np.isnan(score):
            assert decision == Decision.DEFER


def test_the_comparison_is_in_float32() -> None:
    """0.1 is below float32(0.1): a comparison in float64 would defer the unit whose score made the threshold."""
    score = np.array([0.1], np.float32)
    assert float(score[0]) > 0.1
    assert decisions(policy(0.1), score) == [Decision.ANSWER]
    above = np.nextafter(score, np.float32(1))
    assert decisions(policy(0.1), above) == [Decision.DEFER]


@given(scores, thresholds, thresholds)
def test_a_higher_threshold_never_defers_more(u: np.ndarray, one: float, other: float) -> None:
    low, high = (np.array(decisions(policy(t), u)) for t in sorted((one, other)))
    assert (high[low == Decision.ANSWER] == Decision.ANSWER).all()


@given(scores, thresholds, thresholds)
def test_a_callers_wish_only_takes_answers_away(u: np.ndarray, threshold: float, wish: float) -> None:
    plain = np.array(decisions(policy(threshold), u))
    wished = np.array(decisions(policy(threshold), u, wish))
    assert (wished[plain == Decision.DEFER] == Decision.DEFER).all()
    assert set(wished[plain == Decision.ANSWER]) <= {Decision.ANSWER, Decision.CALLER_DEFERRED}
    if wish >= threshold:
        assert (wished == plain).all()


def test_a_nan_wish_defers() -> None:
    assert decisions(policy(2.0), np.array([1.0], np.float32), math.nan) == [Decision.CALLER_DEFERRED]


def test_shifts_are_kept_and_defer_only_where_the_policy_says_so() -> None:
    u, shifts = np.array([0.5, 0.5, 2.0], np.float32), np.array([0, 1, 1], np.uint8)
    assert decisions(policy(), u, shifts=shifts) == [1, 1, 2]
    assert decisions(policy(defer_on_shift=True), u, shifts=shifts) == [1, 2, 2]
    assert decisions(policy(defer_on_shift=True), u, 0.1, shifts) == [3, 2, 2]
    assert decide(policy(), HEAD, spread(u), shifts).shifts.tolist() == [0, 1, 1]


def test_unfamiliar_knowledge_is_a_shift() -> None:
    rule = policy(9.0, knowledge_measure="varm", knowledge_reference=0.1)
    varm = np.array([0.05, 0.1, 0.2, np.nan], np.float32)
    verdict = decide(rule, HEAD, spread(np.ones(4, np.float32), varm), np.array([1, 0, 1, 0], np.uint8))
    flagged = Shift.KNOWLEDGE_ABOVE_REFERENCE
    assert verdict.shifts.tolist() == [1, 0, 1 | flagged, flagged]
    assert verdict.decisions.tolist() == [1, 1, 1, 1]


def test_what_a_policy_hides() -> None:
    u = np.array([0.5, 2.0, 0.9], np.float32)
    assert decide(policy(), HEAD, spread(u), NONE).hidden.tolist() == [False, False, False]
    assert decide(policy(withhold=True), HEAD, spread(u), NONE, 0.6).hidden.tolist() == [False, True, False]


CHANGES = {
    "head": "other",
    "model": "m:2",
    "profile": "cuda-fp16-split",
    "measure": "varm",
    "threshold": 1.5,
    "mode": "target_retention",
    "target_retention": 0.9,
    "retention_band": 0.1,
    "calibration_units": 7,
    "audit_rate": 0.02,
    "audit_strata": ((1.0, 0.05),),
    "knowledge_measure": "varm",
    "knowledge_reference": 0.5,
    "defer_on_shift": True,
    "withhold": True,
    "reason": "no calibration",
    "certificate": "{}",
}


def test_equal_policies_have_equal_versions_and_others_do_not() -> None:
    versions = {policy().version} | {policy(**{name: value}).version for name, value in CHANGES.items()}
    assert len(versions) == len(CHANGES) + 1
    assert set(CHANGES) == {name for name in vars(policy()) if name != "version"}
    assert policy().version == policy().version
    read = policy()
    assert read.version.startswith("power-")
    assert replace(read).version == read.version, "a version that was read is not part of the next"


def test_thresholds_that_json_cannot_tell_apart_have_versions_of_their_own() -> None:
    assert len({policy(t).version for t in (math.inf, -math.inf, math.nan, 0.0)}) == 4


CALIBRATION = Calibration(
    retention_table("tvar", np.arange(1, 400, dtype=np.float32)), {"varm": tuple(float(v) for v in REFERENCE_LEVELS)}
)


def chosen(calibration: Calibration | None = CALIBRATION, **rest: object) -> Policy:
    given_ = {"model": "m:1", "profile": "p", "ensemble": True, "target_retention": 0.95} | rest
    return choose(HEAD, calibration, **given_)  # type: ignore[arg-type]


def test_the_default_policy_is_the_calibrated_one() -> None:
    default = chosen()
    assert (default.mode, default.measure, default.threshold) == ("target_retention", "tvar", 380)
    assert (default.knowledge_measure, default.knowledge_reference) == ("varm", 0.999)
    assert default.calibration_units == 399
    assert default.reason == ""
    assert default.retention_band == pytest.approx(CALIBRATION.retention.band())


def test_a_fixed_threshold_wins_and_needs_no_calibration() -> None:
    assert (chosen(fixed_threshold=3.0).mode, chosen(fixed_threshold=3.0).threshold) == ("fixed", 3.0)
    assert chosen(None, fixed_threshold=3.0).threshold == 3.0


def test_nothing_certifiable_defers_all() -> None:
    other = Calibration(RetentionTable("mvar", 9, (0.95,), (1.0,)), {})
    for defers, reason in (
        (chosen(None), "no calibration under the numeric profile p"),
        (chosen(other), "calibrated for the measure mvar, not for tvar"),
        (chosen(ensemble=False), "calibrated for the measure tvar, not for variance"),
        (chosen(target_retention=0.9999), "target retention 0.9999 is outside"),
    ):
        assert (defers.mode, defers.threshold) == ("defer_all", -math.inf)
        assert defers.reason.startswith(reason)
        assert decisions(
            replace(defers, measure="mvar", knowledge_measure=None), np.array([-1e30, 0, np.nan], np.float32)
        ) == [2, 2, 2]


@pytest.mark.parametrize(("units", "level"), [(7, 0.85), (11, 0.915), (17, 0.94), (18, 0.945)])
def test_a_target_beyond_few_units_falls_back_to_the_nearest_and_says_so(units: int, level: float) -> None:
    few = Calibration(retention_table("tvar", np.arange(1, units + 1, dtype=np.float32)), {})
    fallback = chosen(few)
    assert (fallback.mode, fallback.target_retention, fallback.threshold) == ("target_retention", level, units)
    assert fallback.calibration_units == units
    assert fallback.reason == (
        f"a target retention of 0.95 needs more than {units} calibration units; they allow {level:g}"
    )
    assert chosen(few, target_retention=level) == replace(fallback, reason="")
    assert chosen(few, target_retention=0.5).target_retention == 0.5


def test_nineteen_units_reach_the_usual_target() -> None:
    enough = Calibration(retention_table("tvar", np.arange(1, 20, dtype=np.float32)), {})
    assert (chosen(enough).target_retention, chosen(enough).threshold, chosen(enough).reason) == (0.95, 19, "")


def test_a_single_model_has_no_knowledge_to_compare() -> None:
    single = chosen(ensemble=False)
    assert (single.measure, single.knowledge_measure) == ("variance", None)


def test_the_book_knows_its_heads() -> None:
    book = PolicyBook({"power": policy()})
    assert "power" in book
    assert "speed" not in book
    assert book["power"] == policy()
    assert book.all() == (policy(),)


@pytest.mark.parametrize("field", ["ensemble_measure", "knowledge_measure"])
def test_no_policy_is_made_of_a_measure_that_needs_the_label(field: str) -> None:
    head = replace(HEAD, **{field: "ll_fu"})
    with pytest.raises(NeedsLabel, match="needs the label"):
        choose(head, None, model="m:1", profile="cpu", ensemble=True, target_retention=0.95)


def test_a_score_beyond_float32_defers() -> None:
    verdict = decide(policy(3e38), HEAD, spread(np.array([1e30, 1e300])), NONE)
    assert verdict.uncertainty.dtype == np.float32
    assert verdict.decisions.tolist() == [Decision.ANSWER, Decision.DEFER]


POWER = replace(HEAD, lower=0.0)


def test_an_impossible_prediction_is_deferred_with_an_infinite_score() -> None:
    means, mvar = np.array([-1.0, 1.0, -1.0], np.float32), np.array([0.5, 0.5, 2.0], np.float32)
    for limit in (1.0, math.inf):
        verdict = decide(policy(limit), POWER, Gaussian(means, mvar), NONE, defer_above=0.1)
        assert verdict.decisions.tolist() == [Decision.DEFER, Decision.CALLER_DEFERRED, Decision.DEFER]
        assert verdict.uncertainty.tolist() == [math.inf, 0.5, math.inf]
        assert verdict.raw is not None
        assert verdict.raw.tolist() == mvar.tolist()
        assert verdict.shifts.tolist() == [Shift.IMPOSSIBLE_PREDICTION, 0, Shift.IMPOSSIBLE_PREDICTION]
    assert decide(policy(), POWER, Gaussian(np.abs(means), mvar), NONE).raw is None


def test_what_a_task_finds_impossible_is_deferred_as_well() -> None:
    shifts = np.array([Shift.IMPOSSIBLE_PREDICTION, Shift.OUTSIDE_TRAINING_RANGE], np.uint8)
    verdict = decide(policy(), HEAD, spread(np.full(2, 0.5, np.float32)), shifts)
    assert verdict.decisions.tolist() == [Decision.DEFER, Decision.ANSWER]
    assert verdict.uncertainty.tolist() == [math.inf, 0.5]
