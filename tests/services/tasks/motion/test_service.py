"""Requests over both protocols: equal answers in known frames, decided as the policy says, failures for themselves."""

import base64
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format

from demur.v1 import common_pb2, motion_pb2
from models.artefact import Artefact
from models.tasks.motion.data import messages, submission
from models.tasks.motion.inference.grid import to_scene
from services.policy.decision import Decision
from tests.models.motion.towns import town
from tests.services.tasks.documents import misfits
from tests.services.tasks.motion.conftest import serving
from tests.services.tasks.motion.sameness import same, timeless
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


async def test_all_ways_of_sending_a_scene_are_answered_alike(three: Artefact) -> None:
    as_object = json_format.MessageToDict(street())
    async with serving(three) as served:
        message = await served.message(scene=CONTENT)
        answers = [
            await served.answer(scene=CONTENT),
            await served.answer(scene=as_object),
            await served.answer(scene=json.dumps(as_object).encode()),
            (await served.form(scene=CONTENT)).json(),
            (await served.form(scene=json.dumps(as_object).encode())).json(),
        ]
        binary = await served.http.post(
            "/v1/predict",
            content=motion_pb2.MotionPredictRequest(scene=CONTENT).SerializeToString(),
            headers={"content-type": "application/protobuf"},
        )
        frames = await served.streamed({"scene": CONTENT})
    for answer in answers:
        same(answer, message)
        assert [timeless(entry) for entry in answer["answers"]] == [timeless(entry) for entry in answers[0]["answers"]]
    assert [entry["track_id"] for entry in answers[0]["answers"]] == [FAST, SLOW, HIDDEN]
    same(answers[0], motion_pb2.MotionPredictResponse.FromString(binary.content))
    (result,) = [frame.result for frame in frames if frame.WhichOneof("frame") == "result"]
    same(answers[0], result.answer)
    for first, other in zip(message.answers, result.answer.answers, strict=True):
        for either in (first, other):
            either.deferral.ids.Clear()
        assert first.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True)


async def test_plain_answers_have_the_numbers_of_packed_ones(three: Artefact) -> None:
    async with serving(three) as served:
        packed, answer = await served.message(scene=CONTENT), await served.message(scene=CONTENT, plain=True)
        of_json = await served.message(scene=json.dumps(json_format.MessageToDict(street())).encode(), plain=True)
    kinds = {"scene_trajectories": "<f8"}
    for plain, other, third in zip(answer.answers, packed.answers, of_json.answers, strict=True):
        for name in ("trajectories", "scene_trajectories", "confidences", "scores", "total", "data", "knowledge"):
            expected = np.frombuffer(getattr(other, name), kinds.get(name, "<f4"))
            assert len(expected)
            np.testing.assert_array_equal(getattr(plain, f"plain_{name}"), expected)
            np.testing.assert_array_equal(getattr(third, f"plain_{name}"), expected)
            assert not getattr(plain, name)
        assert list(plain.deferral.plain_decisions) == list(other.deferral.decisions)


async def test_maps_are_answered_as_the_scene_that_they_show(three: Artefact) -> None:
    vehicles = [
        {"scene_id": agent.scene_id, "track_id": agent.track_id, "pose": {"x": agent.x, "y": agent.y, "yaw": agent.yaw}}
        for agent in agents()
    ]
    pose = ", ".join(str(value) for value in vehicles[0]["pose"].values())
    async with serving(three) as served:
        scene = await served.answer(scene=CONTENT)
        unnamed = [await served.answer(tensor=tensor()), await served.answer(rendered=rendered())]
        named = [
            await served.answer(tensor=tensor(), agents=vehicles),
            await served.answer(rendered=rendered(), agents=vehicles),
        ]
        message = await served.message(tensor={"values": tensor(), "agents": vehicles})
        formed = (await served.form(rendered=rendered()[0], scene_id="street", track_id=str(FAST), pose=pose)).json()
        packed = (await served.form(tensor=tensor())).json()
    same(named[0], message)
    for answer in named:
        for expected, other in zip(scene["answers"], answer["answers"], strict=True):
            assert {**timeless(other), "unseen_seconds": 0} == {**timeless(expected), "unseen_seconds": 0}
    for answer in (*unnamed, packed):
        assert answer["scene_id"] == ""
        for expected, other in zip(scene["answers"], answer["answers"], strict=True):
            assert not {"scene_id", "track_id", "pose", "scene_trajectories_m"} & other.keys()
            assert other["trajectories_m"] == expected["trajectories_m"]
            assert other["uncertainty"] == expected["uncertainty"]
    assert timeless(formed["answers"][0]) == timeless(scene["answers"][0])


async def test_vehicles_keep_their_velocity_in_both_frames(three: Artefact) -> None:
    async with serving(three) as served:
        answer = await served.answer(scene=CONTENT)
    for entry, agent in zip(answer["answers"], agents(), strict=True):
        plans = np.array(entry["trajectories_m"])
        speed = SPEEDS[agent.track_id]
        assert plans.shape == (5, 25, 2)
        np.testing.assert_allclose(plans[..., 0], np.broadcast_to(speed * TIMES, (5, 25)), atol=0.1 * speed + 2.5)
        np.testing.assert_allclose(plans[..., 1], 0, atol=3.5)
        np.testing.assert_allclose(
            entry["scene_trajectories_m"], to_scene(plans, agent.x, agent.y, agent.yaw), atol=1e-9
        )
        assert entry["pose"] == {"x_m": agent.x, "y_m": agent.y, "yaw_rad": agent.yaw}


async def test_confidences_scores_and_spreads_are_what_they_say(three: Artefact) -> None:
    async with serving(three) as served:
        answer = await served.answer(scene=CONTENT)
    for entry in answer["answers"]:
        confidences, scores = np.array(entry["confidences"]), np.array(entry["scores_nats"])
        assert confidences.sum() == pytest.approx(1, abs=1e-6)
        assert (np.diff(confidences) <= 0).all()
        np.testing.assert_allclose(
            confidences, np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum(), 1e-5
        )
        assert entry["uncertainty"] == pytest.approx(-scores.mean(), rel=1e-5)
        total, data, knowledge = (np.array(entry[f"{name}_m2"]) for name in ("total", "data", "knowledge"))
        assert total.shape == (25,)
        np.testing.assert_allclose(total, data + knowledge, rtol=1e-5)
        assert knowledge[-5:].mean() > 2 * knowledge[:5].mean(), "members part with time"
    fast, slow, _ = answer["answers"]
    assert fast["uncertainty"] > slow["uncertainty"]


async def test_a_vehicle_that_is_missing_now_is_answered_and_told(three: Artefact) -> None:
    async with serving(three) as served:
        answer = await served.answer(scene=CONTENT)
    fast, slow, hidden = answer["answers"]
    assert hidden["unseen_seconds"] == pytest.approx(0.2 * UNSEEN_STEPS)
    assert not {"unseen_seconds"} & (fast.keys() | slow.keys())
    assert hidden["pose"]["x_m"] == pytest.approx(970.0), "moved on at its velocity"


async def test_callers_choose_vehicles(three: Artefact) -> None:
    async with serving(three) as served:
        both = await served.answer(scene=CONTENT, track_ids=[SLOW, str(FAST)])
        formed = (await served.form(scene=CONTENT, track_ids=f"{SLOW}, {FAST}")).json()
        message = await served.message(scene=CONTENT, track_ids=[SLOW, FAST])
        everyone = await served.answer(scene=CONTENT)
    same(both, message)
    same(formed, message)
    assert [(entry["item"], entry["track_id"]) for entry in both["answers"]] == [(0, SLOW), (1, FAST)]
    assert both["answers"][1]["trajectories_m"] == everyone["answers"][0]["trajectories_m"]


async def test_a_caller_may_be_stricter(three: Artefact) -> None:
    async with serving(three, fixed_threshold=1e9) as served:
        assert {entry["decision"] for entry in (await served.answer(scene=CONTENT))["answers"]} == {"ANSWER"}
        strict = await served.answer(scene=CONTENT, defer_above=-1e9)
        formed = (await served.form(scene=CONTENT, defer_above="-1e9")).json()
        begin = common_pb2.StreamBegin(defer_above=-1e9)
        frames = await served.streamed({"scene": CONTENT}, begin=begin)
        assert (await served.form(scene=CONTENT, defer_above="much")).json()["error"]["code"] == "not_a_number"
    for answer in (strict, formed):
        assert {entry["decision"] for entry in answer["answers"]} == {"CALLER_DEFERRED"}
    (result,) = [frame.result for frame in frames if frame.WhichOneof("frame") == "result"]
    assert {entry.deferral.decisions[0] for entry in result.answer.answers} == {Decision.CALLER_DEFERRED}


async def test_a_single_model_has_no_knowledge(one: Artefact) -> None:
    async with serving(one) as served:
        answer, message = await served.answer(scene=CONTENT), await served.message(scene=CONTENT)
    same(answer, message)
    for entry in answer["answers"]:
        assert "total_m2" in entry
        assert not {"data_m2", "knowledge_m2"} & entry.keys()


async def test_the_submission_is_one_that_the_official_scorer_reads(three: Artefact, tmp_path: Path) -> None:
    async with serving(three) as served:
        answer = await served.answer(scene=CONTENT, submission=True)
        message = await served.message(scene=CONTENT, submission=True)
        other = await served.message(scene=street("another").SerializeToString(), submission=True)
        plain = await served.answer(scene=CONTENT)
        archive = await served.form(scene=CONTENT, accept="application/zip")
        unnamed = await served.form(tensor=tensor(), accept="application/zip")
        refused = await served.refusal(tensor=tensor(), submission=True)
    assert "submission.pb" not in plain["files"]
    assert base64.b64decode(answer["files"]["submission.pb"]) == message.submission
    zipped = zipfile.ZipFile(io.BytesIO(archive.content))
    assert zipped.namelist() == ["answer.json", "submission.pb"]
    assert zipped.read("submission.pb") == message.submission
    assert zipfile.ZipFile(io.BytesIO(unnamed.content)).namelist() == ["answer.json"]
    assert (refused["code"], refused["field"]) == ("missing", "agents")
    path = tmp_path / "submission.pb"
    path.write_bytes(message.submission + other.submission)
    predictions = list(messages.predictions(path))
    assert [(row.scene_id, row.track_id) for row in predictions] == [
        (scene, track) for scene in ("street", "another") for track in (FAST, SLOW, HIDDEN)
    ]
    for prediction, entry in zip(predictions, answer["answers"], strict=False):
        modes = prediction.weighted_trajectories
        np.testing.assert_array_equal([mode.weight for mode in modes], np.array(entry["confidences"], np.float32))
        points = [[(point.x, point.y) for point in mode.trajectory.points] for mode in modes]
        np.testing.assert_array_equal(points, entry["trajectories_m"])
        assert np.float32(prediction.uncertainty_measure) == np.float32(entry["uncertainty"])
        assert prediction.is_ood == bool(entry["shifted"])
    assert len(predictions[0].weighted_trajectories) <= submission.MOST_MODES


async def test_a_job_shows_progress_and_keeps_the_submission(three: Artefact) -> None:
    async with serving(three) as served:
        view, events = await served.job({"scene": CONTENT}, {"submission": "true"})
        file = await served.http.get(view["result"]["files"]["submission.pb"])
        message = await served.message(scene=CONTENT, submission=True)
        answer = await served.answer(scene=CONTENT)
    assert events.rstrip().splitlines()[-2] == "event: done"
    assert view["progress"]["items"] == 3
    assert file.content == message.submission
    assert [timeless(entry) for entry in view["result"]["answers"]] == [timeless(entry) for entry in answer["answers"]]


async def test_chunks_of_a_stream_are_answered_in_order_and_fail_alone(three: Artefact) -> None:
    begin = common_pb2.StreamBegin(purpose=common_pb2.PURPOSE_REPLAY)
    requests = [
        {"scene": CONTENT},
        {"scene": b"no scene"},
        {"tensor": {"values": tensor()}},
        {},
        {"scene": CONTENT, "purpose": common_pb2.PURPOSE_EXPLORE},
        {"scene": CONTENT, "track_ids": [FAST]},
    ]
    async with serving(three) as served:
        frames = await served.streamed(*requests, begin=begin)
    assert frames[0].accepted.model.startswith("motion-straight-3:")
    reported = {frame.result.answer.profile for frame in frames if frame.WhichOneof("frame") == "result"}
    assert reported == {frames[0].accepted.profile} == {"cpu-fp32-stacked"}
    kinds = [(kind, getattr(frame, kind)) for frame in frames if (kind := frame.WhichOneof("frame")) != "progress"]
    ends = [(kind, event.sequence) for kind, event in kinds if kind in ("result", "error")]
    assert ends == [("result", 0), ("error", 1), ("result", 2), ("error", 3), ("error", 4), ("result", 5)]
    codes = [event.error.code for kind, event in kinds if kind == "error"]
    assert codes == ["not_a_scene", "missing", "unknown_field"]
    reported = [f.progress for f in frames if f.WhichOneof("frame") == "progress" and f.progress.HasField("sequence")]
    assert {update.sequence for update in reported} == {0, 2, 5}
    assert frames[-1].progress.units_done == 3 + 3 + 1


async def test_the_document_describes_bodies_and_answers(three: Artefact) -> None:
    async with serving(three) as served:
        document = (await served.http.get("/v1/openapi.json")).json()
        answers = [
            await served.answer(scene=broken(SLOW), submission=True),
            await served.answer(tensor=tensor()),
        ]
        described = await served.stub.Describe(common_pb2.DescribeRequest())
    schemas = document["components"]["schemas"]
    for answer in answers:
        answer.pop("files")
        assert misfits(answer, schemas["Answer"], schemas) == []
        for entry in answer["answers"]:
            known = schemas["AgentAnswer"]["properties"]
            assert entry.keys() <= known.keys()
    assert {"scene", "rendered", "tensor", "track_ids"} <= set(schemas["RequestForm"]["properties"])
    inputs = {"SceneRequest": "scene", "TensorRequest": "tensor", "RenderedRequest": "rendered"}
    assert {name: schemas[name]["required"] for name in inputs} == {name: [field] for name, field in inputs.items()}
    assert "track_ids" in schemas["SceneRequest"]["properties"]
    assert "agents" in schemas["TensorRequest"]["properties"]
    assert [head.name for head in described.heads] == ["trajectories"]
    assert len(described.features) == 17
    assert "32 x 32 cells of 1 m" in described.features[0].description
    assert described.max_rows == 256


@pytest.mark.parametrize("lanes", [1, 3])
async def test_a_large_scene_is_worked_off_in_chunks(three: Artefact, lanes: int) -> None:
    """Each says of a request what it says of it alone."""
    content = town(1, cars=60).SerializeToString()
    async with serving(three, lanes=lanes, fixed_threshold=1e9) as served:
        whole = await served.answer(scene=content)
        some = await served.answer(scene=content, track_ids=[60, 17, 33])
        frames = await served.streamed({"scene": content})
    assert [entry["track_id"] for entry in whole["answers"]] == list(range(1, 61))
    by_track = {entry["track_id"]: entry for entry in whole["answers"]}
    for actual in some["answers"]:
        other = by_track[actual["track_id"]]
        assert {**timeless(actual), "item": 0} == {**timeless(other), "item": 0}
    fractions = [f.progress.fraction for f in frames if f.progress.HasField("sequence")]
    assert fractions == sorted(fractions)
    assert len(served.assembled.tenant.pipeline.task.heads) == 1
