"""Policies of operators under another numeric profile: what is kept of thresholds, goals and certificates."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.artefact import Artefact
from services.app.assembly import qualify
from services.policy.decision import Policy
from services.qualification.policies import carried_policy
from services.qualification.tables import Tables
from services.runtime.settings import Settings
from tests.services.qualification.variants import rounded, variant

POLICY = Policy(
    head="power",
    model="vessel-dnn-10:0",
    profile="cpu-fp32-stacked",
    measure="tvar",
    threshold=2e6,
    mode="fixed",
    knowledge_measure="varm",
    knowledge_reference=1e5,
)
CERTIFICATE: dict[str, Any] = {
    "procedure": "ltt",
    "statement": "of the answered at most 10 % are worse than acceptable",
    "measure": "tvar",
    "data": "0" * 64,
    "fold": "all",
    "n": 5000,
    "issued": "2026-01-01",
    "expires": "2026-04-01",
    "alpha": 0.1,
    "delta": 0.05,
    "error": "squared_error",
    "acceptable": 250000.0,
}
Carry = Callable[[Policy], tuple[Policy, str]]


def carrying(model: Artefact, folder: Path) -> Carry:
    qualification = qualify(model, Settings(task="vessel"), folder)
    qualification.settle()
    tables: Tables = qualification.measure()
    assert tables.record is not None
    record = tables.record
    return lambda policy: carried_policy(policy, record, tables.by_head["power"], tables.profile.name)


@pytest.fixture(scope="module")
def carried(source: Artefact, tmp_path_factory: pytest.TempPathFactory) -> Carry:
    folder = tmp_path_factory.mktemp("carried")
    return carrying(variant(source, folder / "dnn-10", rounded(19)), folder / "records")


@pytest.fixture(scope="module")
def mapped(shifted: Artefact, tmp_path_factory: pytest.TempPathFactory) -> Carry:
    return carrying(shifted, tmp_path_factory.mktemp("mapped"))


def test_a_fixed_threshold_gets_a_guard_band_or_another_scale(carried: Carry, mapped: Carry) -> None:
    policy, done = carried(POLICY)
    assert (policy.mode, policy.profile) == ("fixed", "cpu-fp16-stacked")
    assert 2e6 * 0.999 < policy.threshold < 2e6
    assert policy.reason == done
    policy, done = mapped(POLICY)
    assert policy.threshold == pytest.approx(3e6, rel=0.05)
    assert "mapped over from cpu-fp32-stacked" in done


def test_a_threshold_of_a_third_profile_cannot_be_compared(carried: Carry) -> None:
    """As one that was set on a device of another kind: its scores are in no record here."""
    third = replace(POLICY, profile="cuda-1.30-fp32-stacked-sm_80-notf32-heuristic")
    policy, done = carried(third)
    assert policy.mode == "defer_all"
    assert "set under cuda-1.30" in done
    assert "set it again" in done
    assert carried(replace(third, mode="defer_all", reason="recall"))[0].reason == "recall"
    assert carried(replace(third, mode="target_retention", target_retention=0.9))[0].mode == "target_retention"
    assert carried(replace(POLICY, profile="cpu-fp32-stacked,power=mae"))[0].mode == "fixed"


def test_a_target_retention_stays_the_goal(mapped: Carry) -> None:
    policy, _ = mapped(replace(POLICY, mode="target_retention", target_retention=0.9))
    assert (policy.mode, policy.target_retention) == ("target_retention", 0.9)
    assert policy.threshold > 2e6


def test_a_certificate_promises_less_or_becomes_void(carried: Carry, mapped: Carry) -> None:
    certified = replace(POLICY, mode="certified", certificate=json.dumps(CERTIFICATE))
    policy, _ = carried(certified)
    certificate = json.loads(policy.certificate)
    assert policy.mode == "certified"
    assert certificate["profile"] == "cpu-fp16-stacked"
    assert 0.1 < certificate["alpha"] < 0.11
    assert certificate["delta"] > 0.05
    policy, done = mapped(certified)
    assert policy.mode == "defer_all"
    assert policy.certificate == ""
    assert "certificate void" in done
    assert "certify again under cpu-fp16-stacked" in done

    unbounded = {**CERTIFICATE, "acceptable": None}
    policy, done = carried(replace(certified, certificate=json.dumps(unbounded)))
    assert policy.mode == "defer_all", "a guard band changes who is answered, and these losses have no bound"
    assert "losses have no bound" in done


def test_what_defers_everything_goes_on_to(carried: Carry) -> None:
    policy, _ = carried(replace(POLICY, mode="defer_all", threshold=float("-inf"), reason="set by hand"))
    assert (policy.mode, policy.reason) == ("defer_all", "set by hand")


def test_what_looks_unfamiliar_is_known_by_the_new_scores(mapped: Carry) -> None:
    policy, _ = mapped(replace(POLICY, defer_on_shift=True))
    assert policy.mode == "fixed"
    assert policy.knowledge_reference is not None
    assert policy.knowledge_reference != 1e5
