"""Policies of a running service: shown, changed by command line, HTTP and client, and followed by the next answer."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demur
from tests.e2e.conftest import Installation, serving


@pytest.fixture(scope="module")
def vessel(
    installations: Callable[[], Installation], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    installation = installations()
    with serving(installation, tmp_path_factory.mktemp("policy") / "log"):
        yield installation


@pytest.fixture
def changing(vessel: Installation) -> Iterator[Installation]:
    """The service, whose policy is afterwards as it was."""
    yield vessel
    done = vessel.run("policy", "set", "vessel", "--target-retention", "0.95", "--audit-rate", "0.01")
    assert done.returncode == 0, done.stderr


def asked(installation: Installation, *words: str) -> dict[str, Any]:
    done = installation.run("policy", *words, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def put(installation: Installation, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(
        f"{installation.http}/v1/policy/power",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
        method="PUT",
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())["error"]


def deferred(installation: Installation) -> int:
    """Of 64 rows across the trained range."""
    with demur.connect(installation.grpc) as client:
        features = client.vessel.describe().features
        shares = np.random.default_rng(3).random((64, len(features)))
        low = np.array([feature.trained_lower for feature in features])
        high = np.array([feature.trained_upper for feature in features])
        rows = (low + shares * (high - low)).astype(np.float32)
        return int(client.vessel.predict(rows, purpose="replay").deferred.sum())


def test_a_change_is_followed_by_the_next_answer_and_kept_as_an_event(changing: Installation) -> None:
    before = asked(changing, "show", "vessel")["policies"][0]
    some = deferred(changing)
    event = asked(changing, "set", "vessel", "--threshold", "1", "--author", "ada", "--reason", "storm")
    assert deferred(changing) == 64 > some
    assert (
        asked(changing, "show", "vessel")["policies"][0]["version"] == event["policy"]["version"] != before["version"]
    )
    latest = asked(changing, "history", "vessel")["events"][0]
    assert (latest["number"], latest["author"], latest["reason"]) == (event["number"], "ada", "storm")


def test_a_change_that_was_made_for_another_policy_is_refused_everywhere(changing: Installation) -> None:
    code, error = put(changing, {"expected": "power-0", "threshold": 1.0})
    assert (code, error["code"], error["field"]) == (409, "policy_changed", "expected")
    with demur.connect(changing.grpc) as client, pytest.raises(demur.Conflict):
        client.policies.set("power", expected="power-0", threshold=1.0)
    done = changing.run("policy", "set", "vessel", "--threshold", "1", "--if-version", "power-0")
    assert done.returncode == 1
    assert "power-0" in done.stderr


def test_http_and_grpc_tell_the_same_policy(changing: Installation) -> None:
    code, event = put(changing, {"target_retention": 0.9, "author": "bo"})
    assert code == 200
    with demur.connect(changing.grpc) as client:
        (policy,) = client.policies.show()
        assert policy == client.vessel.describe().policy
        assert client.policies.history("power")[0].number == event["number"]
    assert (policy.version, policy.threshold) == (event["policy"]["version"], event["policy"]["threshold"])


def test_audits_are_part_of_the_policy(changing: Installation) -> None:
    code, event = put(changing, {"audits": "stratified", "audit_rate": 0.05})
    assert code == 200
    assert event["policy"]["audits"] == "stratified"
    assert len(event["policy"]["audit_strata"]) > 1
    with demur.connect(changing.grpc) as client:
        (policy,) = client.policies.show()
        assert (policy.audits, policy.version) == ("stratified", event["policy"]["version"])
    assert ", stratified" in changing.run("policy", "show", "vessel").stdout
    assert asked(changing, "set", "vessel", "--audits", "uniform")["policy"]["audits"] == "uniform"
    code, error = put(changing, {})
    assert (code, error["code"]) == (422, "no_change")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target-retention", "0.99999"), "outside"),
        (("--audit-rate", "2"), "0.0001 to 1"),
        (("--audit-rate", "0"), "audit_rate = 0: must be a share of the answered units from 0.0001 to 1"),
        (("--head", "speed", "--threshold", "1"), "head = speed: must be power"),
    ],
)
def test_what_cannot_be_is_refused_in_words(changing: Installation, words: tuple[str, ...], message: str) -> None:
    done = changing.run("policy", "set", "vessel", *words)
    assert done.returncode == 1
    assert message in done.stderr


def test_an_audit_rate_below_that_of_the_setting_is_refused_by_all_protocols(changing: Installation) -> None:
    code, error = put(changing, {"audit_rate": 1e-5})
    assert (code, error["code"], error["field"]) == (422, "out_of_range", "audit_rate")
    assert (error["value"], error["allowed"]) == ("1e-05", "[0.0001, 1]")
    with demur.connect(changing.grpc) as client, pytest.raises(demur.InvalidInput) as refused:
        client.policies.set("power", audit_rate=1e-5)
    assert (refused.value.field, refused.value.value, refused.value.allowed) == ("audit_rate", "1e-05", "[0.0001, 1]")
    assert put(changing, {"audit_rate": 0.0001})[0] == 200


def test_nothing_to_change_is_wrong_usage(vessel: Installation) -> None:
    assert vessel.run("policy", "set", "vessel").returncode == 2
    assert vessel.run("policy", "set", "vessel", "--threshold", "1", "--defer-all").returncode == 2


def test_a_certificate_takes_its_threshold_into_force(changing: Installation, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    uncertainty = rng.gamma(2.0, 5e5, 4000)
    error = (rng.random(4000) < uncertainty / 1e7).astype(float)
    table = tmp_path / "judged.csv"
    np.savetxt(table, np.stack([error, uncertainty], 1), delimiter=",", header="error,uncertainty", comments="")
    done = changing.run("calibrate", "--predictions", str(table), "--risk", "0.1", "--acceptable", "0.5", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    kept = tmp_path / "certificate.json"
    kept.write_text(done.stdout)
    policy = asked(changing, "set", "vessel", "--certificate", str(kept))["policy"]
    assert (policy["mode"], policy["threshold"]) == ("certified", pytest.approx(report["threshold"], rel=1e-6))
    assert policy["certificate"] == report["certificate"]


def test_no_certifiable_threshold_defers_all(changing: Installation, tmp_path: Path) -> None:
    table = tmp_path / "bad.csv"
    table.write_text("error,uncertainty\n" + "".join(f"1,{k}\n" for k in range(1, 300)))
    done = changing.run("calibrate", "--predictions", str(table), "--risk", "0.1", "--acceptable", "0.5", "--json")
    kept = tmp_path / "none.json"
    kept.write_text(done.stdout)
    assert asked(changing, "set", "vessel", "--certificate", str(kept))["policy"]["mode"] == "defer_all"
    assert deferred(changing) == 64


def test_an_operators_policy_outlives_a_restart(installations: Callable[[], Installation], tmp_path: Path) -> None:
    installation = installations()
    with serving(installation, tmp_path / "first"):
        asked(installation, "set", "vessel", "--threshold", "1000")
    with serving(installation, tmp_path / "second"):
        assert deferred(installation) == 64
        assert asked(installation, "show", "vessel")["policies"][0]["threshold"] == 1000.0
