"""Changes of policies: one goal at a time, certificates bind, and what is written comes back bit for bit."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.calibration import Calibration, expected_error, reference_quantiles, retention_table
from services.policy.changes import PolicyChange, changed, from_json, to_json
from services.policy.decision import Policy
from services.runtime.errors import InvalidInput

Strata = tuple[tuple[float, float], ...]
POLICY = Policy("power", "m:1", "cpu", "tvar", 2.0, "fixed", audit_rate=0.01, knowledge_measure="varm")
CALIBRATION = Calibration(retention_table("tvar", np.arange(1, 1001, dtype=np.float32)), {})

SCORES = np.random.default_rng(0).gamma(2.0, 1.0, 5000).astype(np.float32)
TELLING = Calibration(
    retention_table("tvar", SCORES), {"tvar": reference_quantiles(SCORES)}, None, expected_error("tvar", SCORES, SCORES)
)
"""One that tells which error to expect: as large as the score."""


def change(**wishes: object) -> PolicyChange:
    return PolicyChange("power", **wishes)  # type: ignore[arg-type]


def made(policy: Policy, wish: PolicyChange, calibration: Calibration | None) -> Policy:
    return changed(policy, wish, calibration, audit_floor=0.2)


def test_a_retention_takes_its_threshold_from_the_calibration() -> None:
    updated = made(POLICY, change(target_retention=0.9), CALIBRATION)
    assert (updated.mode, updated.threshold, updated.target_retention) == ("target_retention", 901.0, 0.9)
    assert updated.calibration_units == 1000
    assert updated.retention_band > 0


def test_what_is_not_given_stays() -> None:
    assert made(POLICY, change(audit_rate=0.2), None) == replace(POLICY, audit_rate=0.2)
    assert made(POLICY, change(withhold=True), None) == replace(POLICY, withhold=True)
    assert made(POLICY, change(threshold=3.0), None).audit_rate == 0.01


def test_a_new_goal_leaves_nothing_of_the_old_one() -> None:
    retaining = made(POLICY, change(target_retention=0.9), CALIBRATION)
    fixed = made(retaining, change(threshold=2.0), CALIBRATION)
    assert fixed == POLICY
    certified = made(fixed, change(threshold=1.0, certificate='{"alpha": 0.1}'), None)
    assert certified.mode == "certified"
    assert made(certified, change(threshold=2.0), None) == POLICY


def test_deferring_all_says_why() -> None:
    updated = made(POLICY, change(defer_all=True, reason="sensor broken"), CALIBRATION)
    assert (updated.mode, updated.threshold, updated.reason) == ("defer_all", -math.inf, "sensor broken")


@pytest.mark.parametrize(
    ("wishes", "code", "field"),
    [
        ({"reason": "none"}, "no_change", ""),
        ({"target_retention": 0.9, "threshold": 1.0}, "two_goals", "threshold"),
        ({"target_retention": 0.9, "defer_all": True}, "two_goals", "defer_all"),
        ({"certificate": "{}"}, "two_goals", "certificate"),
        ({"certificate": "{}", "target_retention": 0.9}, "two_goals", "certificate"),
        ({"target_retention": 0.9999}, "out_of_range", "target_retention"),
        ({"target_retention": 0.0}, "out_of_range", "target_retention"),
        ({"threshold": math.nan}, "not_finite", "threshold"),
        ({"audit_rate": 1.5}, "out_of_range", "audit_rate"),
        ({"audit_rate": 0.0}, "out_of_range", "audit_rate"),
        ({"audit_rate": 0.00009}, "out_of_range", "audit_rate"),
        ({"audit_rate": math.nan}, "out_of_range", "audit_rate"),
        ({"threshold": 1.0, "certificate": "no"}, "not_a_body", "certificate"),
        ({"threshold": 1.0, "certificate": '{"model": "other:2"}'}, "foreign_certificate", "certificate"),
        ({"threshold": 1.0, "certificate": '{"measure": "epkl"}'}, "foreign_certificate", "certificate"),
    ],
)
def test_what_cannot_be_meant_is_refused(wishes: dict[str, object], code: str, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made(POLICY, change(**wishes), CALIBRATION)
    assert (refused.value.code, refused.value.field) == (code, field)


def rates(policy: Policy) -> list[float]:
    return [rate for _, rate in policy.audit_strata]


def test_stratified_audits_follow_a_new_rate_and_a_new_threshold() -> None:
    drawn = made(POLICY, change(audits="stratified", audit_rate=0.05), TELLING)
    assert min(rates(drawn)) >= 0.2 * 0.05
    assert np.mean(rates(drawn)) == pytest.approx(0.05)
    assert max(rates(drawn)) > 2 * min(rates(drawn))
    more = made(drawn, change(audit_rate=0.1), TELLING)
    np.testing.assert_allclose(rates(more), 2 * np.array(rates(drawn)))
    other = made(drawn, change(threshold=1.0), TELLING)
    assert other.audit_strata[-1][0] == pytest.approx(1.0) != drawn.audit_strata[-1][0]
    off = made(drawn, change(defer_all=True), TELLING)
    assert made(off, change(threshold=1.0), TELLING).audit_strata == other.audit_strata
    assert made(drawn, change(audits="uniform"), TELLING).audit_strata == ()
    assert made(POLICY, change(threshold=1.0), TELLING).audit_strata == ()


def test_audits_that_cannot_be_stratified_are_refused() -> None:
    for calibration in (None, CALIBRATION):
        with pytest.raises(InvalidInput) as refused:
            made(POLICY, change(audits="stratified"), calibration)
        assert (refused.value.code, refused.value.field) == ("no_calibration", "audits")
    with pytest.raises(InvalidInput, match="uniform, stratified"):
        made(POLICY, change(audits="sometimes"), TELLING)


def test_without_a_fitting_calibration_no_retention_is_promised() -> None:
    for calibration in (None, Calibration(retention_table("epkl", np.ones(100, np.float32)), {})):
        with pytest.raises(InvalidInput) as refused:
            made(POLICY, change(target_retention=0.9), calibration)
        assert refused.value.code == "no_calibration"


@given(st.floats(allow_nan=False), st.floats(0, 1), st.lists(st.tuples(st.floats(), st.floats(0, 1)), max_size=3))
def test_a_policy_comes_back_as_it_was_written(
    threshold: float, rate: float, strata: list[tuple[float, float]]
) -> None:
    strata = [(above, share) for above, share in strata if not math.isnan(above)]
    policy = replace(POLICY, threshold=threshold, audit_rate=rate, audit_strata=tuple(strata))
    assert from_json(to_json(policy)) == policy
    assert from_json(to_json(policy)).version == policy.version


def test_older_policies_get_defaults_and_newer_ones_are_refused() -> None:
    written = json.loads(to_json(POLICY))
    del written["audit_rate"]
    assert from_json(json.dumps(written)).audit_rate == Policy("h", "m", "p", "u", 0.0, "fixed").audit_rate
    with pytest.raises(ValueError, match="newer version"):
        from_json(json.dumps(written | {"mood": 1}))


@pytest.mark.parametrize(
    ("wishes", "field"),
    [
        ({"defer_all": True, "certificate": "{"}, "certificate"),
        ({"defer_all": True, "certificate": "[]"}, "certificate"),
        ({"threshold": 1.0, "certificate": '{"a": "\\ud800"}'}, "certificate"),
        ({"threshold": 1.0, "certificate": '{"a":' + "[" * 5000}, "certificate"),
        ({"threshold": 1.0, "certificate": json.dumps({"a": "b" * (1 << 18)})}, "certificate"),
        ({"threshold": 1.0, "author": "a" * 129}, "author"),
        ({"threshold": 1.0, "author": "a\0"}, "author"),
        ({"threshold": 1.0, "reason": "a" * 1001}, "reason"),
    ],
)
def test_what_could_not_be_shown_or_kept_later_is_refused(wishes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made(POLICY, change(**wishes), None)
    assert refused.value.field == field


@pytest.mark.parametrize(
    "text", ["[]", '"a"', "[" * 5000, '{"head": 5}', '{"head": "power", "audit_strata": {"a": 1}}']
)
def test_texts_that_are_no_policies_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no policy|maximum|Expecting|JSON|required"):
        from_json(text)
