"""From scenes to live figures: trajectories as labels, errors by cNLL, inputs for those who label, and the evaluation
agrees."""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub
from models.artefact import Artefact
from models.assessment.trajectories import cnll
from models.tasks.motion.inference.grid import to_scene
from models.tasks.motion.protocol.motion_pb2 import Scene
from tests.models.motion.towns import town, vehicle
from tests.services.tasks.live import evaluated, judged
from tests.services.tasks.motion.conftest import serving
from tests.services.tasks.motion.streets import CONTENT, FAST, TIMES, agents, street, tensor

SCENES, CARS = 4, 6
HEAD = "trajectories"


def lived(seed: int) -> tuple[bytes, dict[int, NDArray[np.float64]]]:
    """A town with its future, and where each vehicle went in its own frame, [25, 2], m."""
    scene = town(seed, cars=CARS)
    scene.id = f"town-{seed}"
    draw = np.random.default_rng(seed)
    futures: dict[int, NDArray[np.float64]] = {}
    content = scene.SerializeToString()
    steps = [scene.future_vehicle_tracks.add() for _ in TIMES]
    for agent in agents(content):
        path = np.stack([agent.speed * TIMES, np.zeros(25)], axis=1) + draw.normal(0, 0.2, (25, 2)).cumsum(axis=0)
        futures[agent.track_id] = path
        for step, place in zip(steps, to_scene(path, agent.x, agent.y, agent.yaw), strict=True):
            step.tracks.append(vehicle(agent.track_id, (float(place[0]), float(place[1])), agent.yaw, agent.speed))
    return scene.SerializeToString(), futures


async def test_live_errors_of_a_census_are_those_of_the_evaluation(
    three: Artefact, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenes = tmp_path / "scenes"
    scenes.mkdir()
    errors, submission = [], b""
    async with serving(three, tmp_path / "home", census=HEAD) as served:
        for seed in range(SCENES):
            content, futures = lived(seed)
            (scenes / f"{seed}.pb").write_bytes(content)
            answer = await served.answer(scene=content, submission=True)
            submission += base64.b64decode(answer["files"]["submission.pb"])
            assert not answer["failures"]
            for entry in answer["answers"]:
                truth = futures[entry["track_id"]]
                plans, weights = np.array(entry["trajectories_m"]), np.array(entry["confidences"])
                errors.append(cnll(truth[None], plans[None], weights[None])[0])
                assert entry["recorded"]
                batch = await served.labelled(entry["prediction_id"], truth.tolist())
                assert not batch["rejected"], batch
    live = judged("motion", tmp_path / "home")["census"]
    assert (live.valid, live.units, live.labels) == (True, SCENES * CARS, SCENES * CARS), live.reasons
    assert live.figures["mean_error"].estimate == pytest.approx(np.mean(errors), rel=1e-6)
    path = tmp_path / "submission.pb"
    path.write_bytes(submission)
    (figures, *_) = evaluated("motion", capsys, "--predictions", path, "--scenes", scenes).values()
    assert figures["error"] == pytest.approx(np.mean(errors), rel=1e-3), (
        "truth of scenes is float32 in the agents' frame"
    )
    assert live.figures["r_auc"].estimate == pytest.approx(figures["r_auc"], rel=1e-2)


async def test_a_deferred_request_is_asked_for_and_judged_over_grpc(three: Artefact, tmp_path: Path) -> None:
    content, futures = lived(1)
    async with serving(three, tmp_path, fixed_threshold=-1e9) as served:
        labels = LabelServiceStub(served.channel)
        answer = await served.answer(scene=content, track_ids=[1])
        (entry,) = answer["answers"]
        assert (entry["deferred"], entry["recorded"]) == (True, True)
        claimed = await labels.Claim(labels_pb2.ClaimRequest(count=1))
        (request,) = claimed.requests
        assert "m in the frame of the agent" in request.label
        assert not request.input, "inputs are not kept unless settings say so"
        value = labels_pb2.LabelValue(doubles=futures[1].astype("<f8").tobytes())
        await labels.SubmitClaimed(
            labels_pb2.SubmitClaimedRequest(request=request.request, lease=request.lease, value=value)
        )
        resolution = await served.resolution(entry["prediction_id"])
    np.testing.assert_allclose(resolution["value"], futures[1])
    live = judged("motion", tmp_path)["requested"]
    assert live.labels == 1
    plans, weights = np.array(entry["trajectories_m"]), np.array(entry["confidences"])
    assert live.figures["mean_error"].estimate == pytest.approx(
        cnll(futures[1][None], plans[None], weights[None])[0], rel=1e-6
    )


async def test_a_future_that_is_known_in_part_is_kept_and_has_no_error(three: Artefact, tmp_path: Path) -> None:
    async with serving(three, tmp_path, census=HEAD) as served:
        (entry, *_) = (await served.answer(scene=CONTENT))["answers"]
        batch = await served.labelled(entry["prediction_id"], [[2.0, 0.0], None, [6.0, 0.0]])
        assert batch["outcomes"] == ["accepted"]
        resolution = await served.resolution(entry["prediction_id"])
    assert resolution["value"] == [[2.0, 0.0], None, [6.0, 0.0], *[None] * 22]
    live = judged("motion", tmp_path)
    assert not any(window.labels for window in live.values()), "it is no error of anybody"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (7.0, "[x, y]"),
        ("straight on", "[x, y]"),
        ([[1.0, 2.0]] * 26, "up to 25"),
        ([[1.0, 1e8]], "finite metres"),
        ([None] * 25, "at least one"),
    ],
)
async def test_labels_that_are_no_trajectories_are_refused(
    three: Artefact, tmp_path: Path, value: Any, words: str
) -> None:
    async with serving(three, tmp_path, census=HEAD) as served:
        (entry, *_) = (await served.answer(scene=CONTENT))["answers"]
        (rejected,) = (await served.labelled(entry["prediction_id"], value))["rejected"]
    assert rejected["error"]["code"] == "bad_label"
    assert words in rejected["error"]["message"]


async def test_kept_inputs_are_scenes_with_one_request_and_without_the_future(three: Artefact, tmp_path: Path) -> None:
    content, _ = lived(2)
    async with serving(three, tmp_path, fixed_threshold=-1e9, keep_payload="on") as served:
        await served.answer(scene=content)
        claimed = await served.claimed(count=10)
    kept = [Scene.FromString(base64.b64decode(unit["input"]["base64"])) for unit in claimed]
    assert {unit["input"]["media_type"] for unit in claimed} == {"application/x-protobuf"}
    came = Scene.FromString(content)
    assert sorted(kept_scene.prediction_requests[0].track_id for kept_scene in kept) == list(range(1, CARS + 1))
    for scene in kept:
        assert (scene.id, len(scene.prediction_requests)) == (came.id, 1)
        assert scene.past_vehicle_tracks == came.past_vehicle_tracks
        assert scene.path_graph == came.path_graph
        assert not scene.future_vehicle_tracks


async def test_of_maps_and_of_large_scenes_ids_are_kept(three: Artefact, tmp_path: Path) -> None:
    large = street("large")
    large.path_graph.lanes[0].centers.extend(list(large.path_graph.lanes[0].centers) * 2000)
    vehicles = [{"scene_id": agent.scene_id, "track_id": agent.track_id} for agent in agents()]
    async with serving(three, tmp_path, fixed_threshold=-1e9, keep_payload="on") as served:
        await served.answer(scene=large.SerializeToString(), track_ids=[FAST])
        await served.answer(tensor=tensor(), agents=vehicles)
        claimed = await served.claimed(count=10)
    kept = [Scene.FromString(base64.b64decode(unit["input"]["base64"])) for unit in claimed]
    identities = {(scene.id, scene.prediction_requests[0].track_id) for scene in kept}
    assert identities == {("large", FAST), *((reference["scene_id"], reference["track_id"]) for reference in vehicles)}
    assert all(scene.ByteSize() < 100 for scene in kept)


async def test_another_measure_may_be_chosen_at_start(three: Artefact) -> None:
    async with serving(three) as served:
        usual = (await served.answer(scene=CONTENT))["answers"]
    async with serving(three, measures="trajectories=knowledge_spread") as served:
        other = (await served.answer(scene=CONTENT))["answers"]
    for default, two in zip(usual, other, strict=True):
        assert (default["measure"], two["measure"]) == ("request_uncertainty", "knowledge_spread")
        assert two["uncertainty"] == pytest.approx(np.mean(two["knowledge_m2"]), rel=1e-5)
        assert default["trajectories_m"] == two["trajectories_m"]


async def test_what_looks_unlike_training_is_flagged_and_may_be_deferred(three: Artefact) -> None:
    scene = street()
    for step in scene.past_vehicle_tracks:
        for track in step.tracks:
            track.linear_velocity.x *= 8 if track.track_id == FAST else 1
            track.linear_velocity.y *= 8 if track.track_id == FAST else 1
    content = scene.SerializeToString()
    async with serving(three, fixed_threshold=1e9) as served:
        fast, slow, _ = (await served.answer(scene=content))["answers"]
    assert fast["shifted"] == ["outside_training_range", "knowledge_above_reference"]
    (remark, *_) = fast["remarks"]
    assert (remark["code"], remark["unit"]) == ("speed_high", "m/s")
    assert remark["value"] == pytest.approx(80)
    assert fast["decision"] == slow["decision"] == "ANSWER"
    async with serving(three, fixed_threshold=1e9, defer_on_shift=True) as served:
        fast, *_ = (await served.answer(scene=content))["answers"]
    assert fast["decision"] == "DEFER"
