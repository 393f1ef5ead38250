"""A model of somebody's own through the whole loop: built, served, audited, labelled, monitored, certified, changed."""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

import demur
from services.cli import up
from services.runtime import row_models
from tests.e2e.conftest import Installation, started, until_ready
from tests.models.rows.frameworks import trained
from tests.models.rows.worlds import CITIES, world

pytestmark = pytest.mark.long

HEAD, ROWS = "left", 3000
MOVED = 25.0
"""Shift of a column that is possible and far from training."""


@dataclass(frozen=True)
class Churn:
    """The running service and its installation."""

    installation: Installation
    client: demur.Client

    @property
    def model(self) -> Any:
        return self.client.rows("churn")

    def windows(self, source: str) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.installation.monitor}/v1/live", timeout=10) as answer:
            windows = json.load(answer)["windows"]
        return [window for window in windows if window["source"] == source and window["task"] == "churn"]

    def window(self, source: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first window of a source that is complete."""
        end = time.monotonic() + 60
        while True:
            if ready := [window for window in self.windows(source) if done(window)]:
                return ready[-1]
            assert time.monotonic() < end, self.windows(source)
            time.sleep(0.5)


@pytest.fixture(scope="module")
def churn(installations: Callable[[], Installation], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Churn]:
    installation, logs = installations(), tmp_path_factory.mktemp("logs")
    frame, labels = world(4000, "binary", "categorical", seed=1)
    model = trained("lightgbm", "binary", "categorical", frame, labels)
    calibration, truth = world(4000, "binary", "categorical", seed=2)
    demur.build(model, calibration, pd.Series(truth, name=HEAD), name="churn", retention=0.9, home=installation.home)
    settings = {"DEMUR_CHURN_AUDIT_RATE": "0.1", "DEMUR_CHURN_CENSUS": HEAD}
    http, grpc = f"http://127.0.0.1:{3021 + installation.offset}", f"127.0.0.1:{4021 + installation.offset}"
    with (
        started(installation, logs / "serve", "serve", "rows", "--model", "churn", **settings) as service,
        started(installation, logs / "monitor", "monitor") as monitor,
    ):
        until_ready(http, service, logs / "serve")
        until_ready(installation.monitor, monitor, logs / "monitor")
        with demur.connect(grpc) as client:
            yield Churn(installation, client)


def test_up_starts_what_is_enabled(
    installations: Callable[[], Installation], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = installations().home
    frame, labels = world(400, seed=1)
    demur.build(LinearRegression().fit(frame, labels), frame, labels, name="plain", home=home)
    assert "plain" not in up.started_names(home)
    row_models.put(home, "plain", enabled=True)
    assert up.started_names(home)[-1] == "plain"
    row_models.put(home, "plain", enabled=False)
    assert "plain" not in up.started_names(home)


def packed(frame: pd.DataFrame) -> NDArray[np.float32]:
    """Return the rows as the service keeps them."""
    return np.column_stack([frame.drop(columns="city"), frame.city.cat.codes]).astype(np.float32)


def test_audits_and_deferred_rows_are_labelled_and_the_estimate_holds_the_truth(churn: Churn) -> None:
    frame, labels = world(ROWS, "binary", "categorical", seed=5)
    answer = churn.model.predict(frame)
    truth = {row.tobytes(): label for row, label in zip(packed(frame), labels, strict=True)}
    submitted = 0
    while requests := churn.client.requests.claim(100):
        for request in requests:
            assert request.columns[-1].text in CITIES
            row = np.array([column.value for column in request.columns], np.float32)
            churn.client.requests.submit(request, truth[row.tobytes()])
            submitted += 1
    assert submitted > answer.deferred.sum()
    window = churn.window("requested", lambda w: w["units"] >= ROWS and w["labels"] >= submitted)
    assert window["valid"], window["reasons"]
    wrong = answer.classes != (labels == "yes")
    for name, value in {"answered_error": wrong[~answer.deferred].mean(), "mean_error": wrong.mean()}.items():
        assert window[name]["low"] <= value <= window[name]["high"], (name, value, window[name])


def test_a_census_gives_the_figures_exactly(churn: Churn) -> None:
    before = {window["window"]: window["labels"] for window in churn.windows("census")}
    frame, labels = world(500, "binary", "categorical", seed=6)
    answer = churn.model.predict(frame)
    pairs = zip(answer.prediction_ids, labels, strict=True)
    churn.client.labels.submit([demur.Label(unit, label, source="census") for unit, label in pairs])
    window = churn.window("census", lambda w: w["labels"] >= before.get(w["window"], 0) + 500)
    wrong = answer.classes != (labels == "yes")
    assert window["mean_error"]["low"] <= wrong.mean() <= window["mean_error"]["high"]


def test_scored_rows_are_evaluated_certified_and_the_threshold_comes_into_force(churn: Churn, tmp_path: Path) -> None:
    frame, labels = world(6000, "binary", "categorical", seed=3)
    frame.assign(**{HEAD: labels}).to_csv(tmp_path / "rows.csv", index=False)
    scored = str(tmp_path / "scored.csv")
    done = churn.installation.run("score", "churn", str(tmp_path / "rows.csv"), scored)
    assert done.returncode == 0, done.stderr
    judged = churn.installation.run("evaluate", "--task", "churn", "--predictions", scored, "--json")
    assert judged.returncode == 0, judged.stderr
    assert json.loads(judged.stdout)["accuracy"] > 0.9
    found = churn.installation.run("calibrate", "--task", "churn", "--predictions", scored, "--risk", "0.05", "--json")
    assert found.returncode == 0, found.stderr
    (tmp_path / "certificate.json").write_text(found.stdout)
    changed = churn.installation.run(
        *("policy", "set", "churn", "--certificate", str(tmp_path / "certificate.json"), "--reason", "certified")
    )
    assert changed.returncode == 0, changed.stderr
    (policy,) = churn.model.describe().policies
    assert policy.mode == "certified"
    answer = churn.model.predict(frame.iloc[:100])
    assert answer.threshold == policy.threshold == pytest.approx(json.loads(found.stdout)["threshold"], rel=1e-6)


def test_a_moved_column_and_a_new_text_are_told(churn: Churn) -> None:
    frame, _ = world(200, "binary", "categorical", seed=7)
    moved = churn.model.predict(frame.assign(x0=frame.x0 + MOVED), purpose="explore")
    assert moved.shifted.all()
    assert all("outside_training_range" in reasons for reasons in moved.shift_reasons)
    assert {inputs[0].column for inputs in moved.shifted_inputs} == {"x0"}
    with pytest.raises(
        demur.InvalidInput, match="city = berlin in row 0: must be a text, one of bonn, jena, kiel, ulm"
    ):
        churn.model.predict({**dict.fromkeys(frame.columns[:-1], 0.0), "city": "berlin"})


def test_a_policy_is_changed_and_the_trail_says_by_whom(churn: Churn) -> None:
    done = churn.installation.run("policy", "set", "churn", "--target-retention", "0.8", "--reason", "more reviewers")
    assert done.returncode == 0, done.stderr
    frame, _ = world(2000, "binary", "categorical", seed=8)
    assert 0.16 < churn.model.predict(frame, purpose="explore").deferred.mean() < 0.24
    trail = churn.installation.run("audit", "churn", "--json")
    assert "more reviewers" in trail.stdout, trail.stderr


def test_status_shows_it_while_it_runs(churn: Churn) -> None:
    services = json.loads(churn.installation.run("status", "--json").stdout)["services"]
    assert services["churn"]["ready"]
    assert services["churn"]["model"].startswith("churn:")
