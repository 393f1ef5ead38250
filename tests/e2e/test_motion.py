"""The motion service as `demur up` starts it: simulated scenes in, trajectories and the official submission out."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import demur
from tests.e2e.conftest import Installation
from tests.models.motion.towns import town


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("motion") / "town.pb"
    path.write_bytes(town(7, cars=9).SerializeToString())
    return path


def target(served: Installation) -> str:
    return f"127.0.0.1:{4003 + served.offset}"


def test_the_reference_artefact_serves_scenes(served: Installation, scene: Path) -> None:
    with demur.connect(target(served)) as client:
        described = client.motion.describe()
        answers = client.motion.predict(scene)
    assert described.model.startswith("motion-bc-5:")
    assert [(head.name, head.unit) for head in described.heads] == [("trajectories", "m")]
    assert [one.agent.track_id for one in answers] == list(range(1, 10))
    for one in answers:
        assert one.trajectories.shape == one.scene_trajectories.shape == (5, 25, 2)
        assert np.sum(one.confidences) == pytest.approx(1, abs=1e-5)
        assert one.knowledge.shape == (25,)


def test_curl_of_the_page_answers(served: Installation, scene: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{3003 + served.offset}/v1/predict"
    archive = tmp_path / "answer.zip"
    form = ["-F", f"scene=@{scene}", "-F", "track_ids=3,5", "-H", "accept: application/zip"]
    ran = subprocess.run(["curl", "-sS", "--fail-with-body", *form, "-o", str(archive), url], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    found = zipfile.ZipFile(archive)
    assert found.namelist() == ["answer.json", "submission.pb"]
    assert [one["track_id"] for one in json.loads(found.read("answer.json"))["answers"]] == [3, 5]


def test_it_is_among_the_services(served: Installation) -> None:
    status = json.loads(served.run("status", "--json").stdout)["services"]["motion"]
    assert status["ready"]
    assert status["grpc"] == target(served)
    assert status["model"].startswith("motion-bc-5:")
