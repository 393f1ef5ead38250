"""A service under a numeric profile that its artefact was not calibrated for, as users meet it."""

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Installation, serving, started
from tests.services.qualification.variants import disordered, replayable, scaled, variant

ROW = {
    "draft_aft_telegram": 12.6,
    "draft_fore_telegram": 12.5,
    "stw": 18.3,
    "diff_speed_overground": 0,
    "awind_vcomp_provider": 20.5,
    "awind_ucomp_provider": 7.8,
    "rcurrent_vcomp": 0.0,
    "rcurrent_ucomp": 0.1,
    "comb_wind_swell_wave_height": 1.6,
    "timeSinceDryDock": 1316927,
}


@pytest.fixture(scope="module")
def installation(installations: Callable[[], Installation]) -> Installation:
    return installations()


@pytest.fixture(scope="module")
def tags(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Artefacts in the store: one on another scale, and one whose scores are others."""
    folder = tmp_path_factory.mktemp("variants")
    source = replayable(folder / "source")
    made = {
        "mapped": variant(source, folder / "mapped", scaled(1.5)),
        "refused": variant(source, folder / "refused", disordered),
    }
    for artefact in made.values():
        assert installation.run("models", "import", "vessel", str(artefact.directory)).returncode == 0
    return {name: artefact.tag for name, artefact in made.items()}


def ask(installation: Installation, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{installation.http}{path}", data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def predict(installation: Installation) -> Any:
    return ask(installation, "/v1/predict", {"rows": [ROW]})["power"]


def test_a_profile_on_another_scale_is_mapped_and_answers(
    installation: Installation, tags: dict[str, str], tmp_path: Path
) -> None:
    with serving(installation, tmp_path / "log", "--model", tags["mapped"]):
        described = ask(installation, "/v1/model")
        assert described["profile"]["name"] == "cpu-fp16-stacked"
        assert described["qualification"]["verdict"] == "mapped"
        assert described["qualification"]["calibrated_under"] == "cpu-fp32-stacked"
        assert described["qualification"]["done"] == 1
        answer = predict(installation)
        assert answer["decision"] == ["ANSWER"]
        assert 'demur_qualification{profile="cpu-fp16-stacked",task="vessel",verdict="mapped"} 1.0' in (
            urllib.request.urlopen(f"{installation.http}/metrics", timeout=10).read().decode()
        )
        status = installation.run("status")
        assert "cpu-fp16-stacked: mapped: power: mapped" in status.stdout
        shown = installation.run("policy", "show", "vessel").stdout
        assert "mapped: " in shown
    with serving(installation, tmp_path / "again", "--model", tags["mapped"], DEMUR_QUALIFY="require"):
        assert ask(installation, "/v1/model")["qualification"]["measured"] == described["qualification"]["measured"]
        assert predict(installation)["threshold"] == answer["threshold"]


def test_other_scores_are_refused_and_nothing_is_answered(
    installation: Installation, tags: dict[str, str], tmp_path: Path
) -> None:
    completed = installation.run("models", "qualify", tags["refused"], "--json")
    assert completed.returncode == 1
    assert json.loads(completed.stdout)["verdict"] == "refused"
    with serving(installation, tmp_path / "log", "--model", tags["refused"]):
        answer = predict(installation)
        assert answer["decision"] == ["DEFER"]
        assert answer["mean"][0] > 0, "a prediction is told all the same"
        status = json.loads(installation.run("status", "--json").stdout)["services"]["vessel"]
        assert "refused" in status["reason"]
        assert "rank correlation" in status["reason"]


def test_a_required_record_that_is_not_there_stops_the_start(
    installation: Installation, tags: dict[str, str], tmp_path: Path
) -> None:
    records = installation.home / "bentoml" / "qualifications"
    for path in records.glob("*.json"):
        path.unlink()
    with started(
        installation, tmp_path / "log", "serve", "vessel", "--model", tags["mapped"], DEMUR_QUALIFY="require"
    ) as process:
        reason = ""
        while "failed to start" not in reason:
            assert process.poll() is None
            time.sleep(0.2)
            reason = json.loads(installation.run("status", "--json").stdout)["services"]["vessel"]["reason"]
        assert f"run `demur models qualify {tags['mapped']}`" in reason
