"""The motion service as `demur up` starts it: simulated traffic in, an official submission out, and its figures."""

import csv
import json
import re
import subprocess
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest

import demur
from models.tasks.motion.protocol.motion_pb2 import Scene, Submission
from tests.e2e.conftest import PROJECT, Installation

PAGE = (PROJECT / "docs" / "motion.md").read_text()
CITY = "AnnArbor"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, served: Installation) -> Path:
    """A data set of one city, in the official layout with its prerendered maps."""
    folder = tmp_path_factory.mktemp("motion")
    simulated = ["data", "motion", "simulate", "--scale", "0.01", "--cities", CITY, "--out", str(folder)]
    ran = served.run(*simulated)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.fixture(scope="module")
def scene(data: Path) -> Path:
    """The one that asks most."""
    return max(sorted((data / "eval_pb").rglob("*.pb")), key=lambda path: len(tracks(path)))


def tracks(scene: Path) -> list[int]:
    return [request.track_id for request in Scene.FromString(scene.read_bytes()).prediction_requests]


def target(served: Installation) -> str:
    return f"127.0.0.1:{4003 + served.offset}"


def test_the_reference_artefact_serves_scenes_and_maps(served: Installation, scene: Path, data: Path) -> None:
    with demur.connect(target(served)) as client:
        described = client.motion.describe()
        answers = client.motion.predict(scene)
        requests = tracks(scene)
        maps = [data / "eval_rendered" / scene.parent.name / f"{scene.stem}_{track}.npy" for track in requests]
        drawn = client.motion.predict(maps)
    assert described.model.startswith("motion-bc-5:")
    assert [(head.name, head.error_unit, head.acceptable) for head in described.heads] == [("trajectories", "nats", 25)]
    assert answers.model == described.model
    assert [vehicle.agent.track_id for vehicle in answers] == requests
    for answer, other in zip(answers, drawn, strict=True):
        assert answer.trajectories.shape == answer.scene_trajectories.shape == (5, 25, 2)
        assert np.sum(answer.confidences) == pytest.approx(1, abs=1e-5)
        assert answer.knowledge.shape == (25,)
        np.testing.assert_allclose(other.trajectories, answer.trajectories, atol=1e-3)


def test_a_folder_is_scored_drawn_and_judged(served: Installation, data: Path, tmp_path: Path) -> None:
    out, scenes = tmp_path / "out", data / "eval_pb"
    ran = served.run("score", "motion", str(scenes), str(out), "--figure")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    with (out / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    submitted = Submission.FromString((out / "submission.pb").read_bytes()).predictions
    assert [(prediction.scene_id, str(prediction.track_id)) for prediction in submitted] == [
        (row["scene"], row["track"]) for row in rows
    ]
    assert {row["decision"] for row in rows} <= {"answer", "defer"}
    assert len(list((out / "figures").iterdir())) == len(rows)
    judging = ["--predictions", str(out / "submission.pb"), "--scenes", str(scenes), "--json"]
    judged = served.run("evaluate", "--task", "motion", *judging)
    assert judged.returncode == 0, judged.stderr
    (figures, *_) = json.loads(judged.stdout)["measures"].values()
    assert np.isfinite(figures["error"])


def test_the_code_of_the_page_runs(
    served: Installation, data: Path, scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asking, and then a label while the client is open."""
    asking, labelling = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)
    code = asking + textwrap.indent(labelling, "    ")
    track = tracks(scene)[0]
    for name in ("scene.pb", "a.pb", "b.pb"):
        (tmp_path / name).write_bytes(scene.read_bytes())
    monkeypatch.chdir(tmp_path)
    for words, others in (("127.0.0.1:4003", target(served)), ("[4308]", f"[{track}]"), ("[7]", f"[{track}]")):
        assert words in code
        code = code.replace(words, others)
    printed: list[object] = []
    exec(compile(code, "docs/motion.md", "exec"), {"print": printed.append})
    assert "\n  prediction " in str(printed[0])
    assert [type(value) for value in printed[1:]] == [demur.MotionAnswers] * 2


def test_the_commands_of_the_page_answer(served: Installation, scene: Path, tmp_path: Path) -> None:
    """Those of curl."""
    (block,) = (example for example in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "curl -F" in example)
    (tmp_path / "scene.pb").write_bytes(scene.read_bytes())
    first, second = tracks(scene)[:2]
    for line in block.splitlines():
        command = line.replace("127.0.0.1:3003", f"127.0.0.1:{3003 + served.offset}").replace("curl ", "curl -sS ")
        command = command.replace("4308,4176", f"{first},{second}")
        ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        if "answer.zip" in line:
            assert zipfile.ZipFile(tmp_path / "answer.zip").namelist() == ["answer.json", "submission.pb"]
        else:
            assert json.loads(ran.stdout)["answers"], ran.stdout


def test_it_is_among_the_services(served: Installation) -> None:
    status = json.loads(served.run("status", "--json").stdout)["services"]["motion"]
    assert status["ready"]
    assert status["grpc"] == target(served)
    assert status["model"].startswith("motion-bc-5:")
