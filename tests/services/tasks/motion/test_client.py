"""The Python client and ``demur score`` against the service itself: all forms of a request, both frames, labels."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from google.protobuf import json_format

import demur
from models.artefact import Artefact
from models.tasks.motion.inference.scenes import agent, parse
from models.tasks.motion.protocol.motion_pb2 import Scene, Submission
from services.cli import main
from tests.models.motion import towns
from tests.ports import free_port
from tests.services.background import background
from tests.services.tasks.motion.conftest import serving
from tests.services.tasks.motion.straight_artefact import SIZE
from tests.services.tasks.motion.streets import (
    CONTENT,
    FAST,
    HIDDEN,
    SLOW,
    SPEEDS,
    TIMES,
    UNSEEN_STEPS,
    agents,
    broken,
    rendered,
    street,
    tensor,
)
from tests.services.tasks.tables import table

Connect: TypeAlias = Callable[..., AbstractContextManager[str]]


@asynccontextmanager
async def listening(artefact: Artefact, home: Path | None = None, **settings: Any) -> AsyncIterator[str]:
    """Where the service listens."""
    port = free_port()
    async with serving(artefact, home, grpc_port=port, **settings):
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def target(three: Artefact) -> Iterator[str]:
    with background(listening(three)) as where:
        yield where


@pytest.fixture(scope="module")
def client(target: str) -> Iterator[demur.Client]:
    with demur.connect(target) as opened:
        yield opened


def lived(name: str, *, steps: int = 25) -> Scene:
    """The street and what became of it: all drive on at their velocity, the slow one a metre to the left."""
    scene = street(name)
    future_steps = [scene.future_vehicle_tracks.add() for _ in range(steps)]
    for vehicle in agents(scene.SerializeToString()):
        aside = 1.0 if vehicle.track_id == SLOW else 0.0
        path = vehicle.in_scene(np.stack([vehicle.speed * TIMES, np.full(25, aside)], axis=1))
        for step, (x, y) in zip(future_steps, path.tolist(), strict=False):
            step.tracks.append(towns.vehicle(vehicle.track_id, (x, y), vehicle.yaw, vehicle.speed))
    return scene


def positions(scene: Scene, track: int) -> list[tuple[float, float]]:
    """Where a vehicle went, in the frame of the scene, m."""
    tracks = [one for step in scene.future_vehicle_tracks for one in step.tracks if one.track_id == track]
    return [(state.position.x, state.position.y) for state in tracks]


def test_all_forms_of_a_request_have_one_answer(client: demur.Client, tmp_path: Path) -> None:
    path = tmp_path / "street.pb"
    path.write_bytes(CONTENT)
    text = json_format.MessageToJson(street()).encode()
    files = [tmp_path / f"street_{track}.npy" for track in SPEEDS]
    for file, content in zip(files, rendered(), strict=True):
        file.write_bytes(content)
    maps = np.frombuffer(tensor(), "<f4").reshape(-1, 17, SIZE, SIZE)
    known = [
        demur.Agent(vehicle.scene_id, vehicle.track_id, demur.Pose(vehicle.x, vehicle.y, vehicle.yaw))
        for vehicle in agents()
    ]
    usual = client.motion.predict(CONTENT)
    for form, vehicles in ((path, ()), (street(), ()), (text, ()), (files, ()), (maps, known), (rendered(), known)):
        answers = client.motion.predict(form, agents=vehicles)
        assert answers.model == usual.model
        for expected, other in zip(usual, answers, strict=True):
            np.testing.assert_allclose(other.trajectories, expected.trajectories, atol=1e-4)
            np.testing.assert_allclose(other.confidences, expected.confidences, atol=1e-4)
            assert (other.decision, other.agent.track_id) == (expected.decision, expected.agent.track_id)
            if other.scene_trajectories is not None:
                np.testing.assert_allclose(other.scene_trajectories, expected.scene_trajectories, atol=1e-3)


def test_trajectories_are_in_the_frames_that_they_say(client: demur.Client) -> None:
    answers = client.motion.predict(CONTENT)
    assert [entry.agent.track_id for entry in answers] == [FAST, SLOW, HIDDEN]
    assert answers.scene_id == "street"
    for answer, known in zip(answers, agents(), strict=True):
        assert answer.trajectories is not None
        assert answer.confidences is not None
        np.testing.assert_allclose(answer.best[-1], (5 * SPEEDS[known.track_id], 0), atol=1.0)
        assert answer.confidences.sum() == pytest.approx(1)
        np.testing.assert_allclose(answer.data + answer.knowledge, answer.total, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(answer.to_scene(answer.best), answer.scene_trajectories[0], atol=1e-4)
        np.testing.assert_allclose(known.in_scene(answer.best), answer.scene_trajectories[0], atol=1e-4)
        there = answer.to_agent_frame(known.in_scene(np.array([[7.0, 2.0]])))
        np.testing.assert_allclose(there, [[7, 2]], atol=1e-6)
    assert [entry.unseen_seconds for entry in answers] == [None, None, pytest.approx(0.2 * UNSEEN_STEPS)]


def test_tracks_are_chosen_and_unknown_ones_refused(client: demur.Client) -> None:
    (answer,) = client.motion.predict(CONTENT, track_ids=[SLOW])
    assert answer.agent.track_id == SLOW
    with pytest.raises(demur.InvalidInput) as caught:
        client.motion.predict(CONTENT, track_ids=[SLOW, 12345])
    assert (caught.value.code, caught.value.value, caught.value.index) == ("unknown_track", "12345", 1)


def test_failures_stay_with_their_request(client: demur.Client) -> None:
    answers = client.motion.predict(broken(SLOW))
    assert [answer.agent.track_id for answer in answers] == [FAST, HIDDEN]
    assert [(failure.item, failure.track_id, failure.error.code) for failure in answers.failures] == [
        (1, SLOW, "not_finite")
    ]
    outcomes = list(client.motion.predict_many([CONTENT, b"\x00\x01", broken(FAST, SLOW, HIDDEN), broken(FAST)]))
    assert [isinstance(outcome, demur.ChunkError) for outcome in outcomes] == [False, True, True, False]
    assert [len(outcome.failures) for outcome in (outcomes[0], outcomes[3])] == [0, 1]
    assert outcomes[1].error.code == "not_a_scene"


def test_more_maps_than_a_message_holds_are_answered_in_their_order(client: demur.Client) -> None:
    maps = np.frombuffer(tensor(), "<f4").reshape(-1, 17, SIZE, SIZE)
    many = np.concatenate([maps] * 30)
    vehicles = [demur.Agent("s", number) for number in range(len(many))]
    answers = client.motion.predict(many, agents=vehicles, submission=True)
    assert [entry.item for entry in answers] == list(range(90))
    few = client.motion.predict(maps)
    for answer in answers:
        np.testing.assert_allclose(answer.trajectories, few[answer.item % 3].trajectories, atol=1e-4)
    submitted = Submission.FromString(answers.submission).predictions
    assert [prediction.track_id for prediction in submitted] == list(range(90))


def test_wishes_are_heard(client: demur.Client) -> None:
    answers = client.motion.predict(CONTENT, purpose="explore", defer_above=-1e9)
    assert {answer.decision for answer in answers} <= {"caller_deferred", "defer"}
    assert not any(answer.recorded for answer in answers)
    described = client.motion.describe()
    assert (described.heads[0].unit, described.heads[0].acceptable) == ("m", 25)
    assert len(described.names) == 17


def test_withheld_predictions_are_decisions(three: Artefact) -> None:
    with background(listening(three, withhold=True, fixed_threshold=-1e9)) as target, demur.connect(target) as client:
        for answer in client.motion.predict(CONTENT, submission=True):
            assert (answer.deferred, answer.trajectories, answer.total) == (True, None, None)
            assert "prediction withheld" in answer.summary()


def test_logged_futures_become_labels(three: Artefact, tmp_path: Path) -> None:
    scene = lived("logged")
    with (
        background(listening(three, tmp_path, fixed_threshold=-1e9)) as target,
        demur.connect(target, actor="driver") as client,
    ):
        answers = client.motion.predict(scene)
        for answer in answers:
            logged = positions(scene, answer.agent.track_id)
            truth = answer.to_agent_frame(logged)
            np.testing.assert_allclose(truth[:, 0], SPEEDS[answer.agent.track_id] * TIMES, atol=1e-6)
            assert client.labels.submit(demur.Label(answer.prediction_id, truth)).check().outcomes == ("accepted",)
            resolution = client.resolutions.get(answer.prediction_id)
            np.testing.assert_allclose(resolution.value, truth)
        (again,) = client.motion.predict(scene, track_ids=[FAST])
        (request,) = client.requests.claim(3)
        assert "m in the frame of the agent" in request.label
        assert client.requests.submit(request, [None, *again.best[1:20].tolist()]) == "accepted"
        assert np.isnan(client.resolutions.get(again.prediction_id).value[[0, 20]]).all()


def test_partial_futures_are_labels(three: Artefact, tmp_path: Path) -> None:
    with background(listening(three, tmp_path, fixed_threshold=-1e9)) as target, demur.connect(target) as client:
        (answer,) = client.motion.predict(CONTENT, track_ids=[FAST])
        logged = [*answer.scene_trajectories[0][:3].tolist(), None, [np.nan, np.nan]]
        label = demur.Label(answer.prediction_id, answer.to_agent_frame(logged))
        assert client.labels.submit(label).check().outcomes == ("accepted",)
        value = client.resolutions.get(answer.prediction_id).value
    np.testing.assert_allclose(value[:3], answer.best[:3], atol=1e-3)
    assert np.isnan(value[3:]).all()


@pytest.mark.long
def test_a_folder_is_scored_drawn_and_judged(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    for number in range(3):
        path = data / "eval_pb" / "000" / f"{number}.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lived(f"street{number}").SerializeToString())
    assert main(["score", "motion", str(data), str(out), "--figure", "--target", target]) == 0
    assert "9 requests of 3 files" in capsys.readouterr().out
    rows = table(out / "summary.csv")
    assert [(row["scene"], int(row["track"])) for row in rows] == [
        (f"street{number}", track) for number in range(3) for track in SPEEDS
    ]
    assert [bool(row["unseen_seconds"]) for row in rows] == [False, False, True] * 3
    assert len(list((out / "figures").glob("street?_?.png"))) == 9
    arguments = ["--predictions", str(out / "submission.pb"), "--scenes", str(data / "eval_pb"), "--json"]
    assert main(["evaluate", "--task", "motion", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    (figures, *_) = document["measures"].values()
    assert figures["n"] == 6, "the vehicle that is not seen now has no frame that the released code would judge in"


def test_the_real_scene_is_answered_scored_and_drawn(
    target: str, client: demur.Client, real_scene: Path, tmp_path: Path
) -> None:
    answers = client.motion.predict(real_scene)
    scene = parse(real_scene.read_bytes())
    assert [entry.agent.track_id for entry in answers] == list(scene.requests)
    for answer in answers:
        known = agent(scene, answer.agent.track_id)
        np.testing.assert_allclose(answer.to_scene([[0.0, 0.0]]), [[known.x, known.y]], atol=1e-6)
    assert main(["score", "motion", str(real_scene), str(tmp_path / "out"), "--figure", "--target", target]) == 0
    assert len(list((tmp_path / "out" / "figures").iterdir())) == 2
