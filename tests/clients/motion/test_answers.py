"""Motion over a real socket: scenes and maps in any form, answers in both frames, failures that stay with theirs."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import demur
from tests.clients import readme
from tests.clients.motion.service import (
    SCORES,
    STEPS,
    confidences,
    map_file,
    maps,
    placed,
    plans,
    scene,
)
from tests.clients.stand_in import PROFILE
from tests.rounding import tolerance


def test_an_answer_is_what_the_service_said(client):
    answers = client.motion.predict(scene())
    assert (answers.model, answers.scene_id, len(answers), answers.failures) == ("motion:1", "s", 2, ())
    assert {answers.profile, *(answer.profile for answer in answers)} == {PROFILE}
    first, second = answers
    assert (first.model, first.recorded, first.item, second.item) == ("motion:1", True, 0, 1)
    assert first.agent == demur.Agent("s", 7, demur.Pose(1000.0, -500.0, 0.5))
    assert (first.trajectories.dtype, first.trajectories.shape) == (np.float32, (5, STEPS, 2))
    np.testing.assert_array_equal(first.trajectories, plans(10))
    np.testing.assert_array_equal(second.trajectories, plans(5))
    np.testing.assert_array_equal(first.best, plans(10)[0])
    np.testing.assert_allclose(first.scene_trajectories, placed(plans(10), first.agent.pose), atol=1e-9)
    np.testing.assert_array_equal(first.confidences, confidences())
    np.testing.assert_array_equal(first.scores, SCORES)
    np.testing.assert_allclose(first.times, 0.2 * np.arange(1, 26))
    np.testing.assert_allclose(first.data + first.knowledge, first.total, rtol=1e-6)
    with pytest.raises(ValueError, match="read-only"):
        first.trajectories[0, 0, 0] = 1
    assert (first.decision, first.deferred, first.answered, first.verdict) == ("answer", False, True, "answered")
    assert (first.uncertainty, first.threshold, first.measure, first.policy) == (5, 10, "request_uncertainty", "p1")
    assert first.prediction_id == "00000000000000d0-0"
    assert (first.shifted, first.shift_reasons, first.remarks, first.unseen_seconds) == (False, (), (), None)
    assert (second.decision, second.deferred, second.shifted) == ("defer", True, True)
    assert second.shift_reasons == ("outside_training_range",)
    assert second.remarks == (demur.Remark("fast", "speed is 50 m/s", 50, "m/s", 0, 20),)
    assert not answers.answered
    assert list(answers.prediction_ids) == ["00000000000000d0-0", "00000000000000d0-1"]
    assert answers[1:] == (second,)
    assert answers.check() is answers


def test_single_models_say_less(client, motion):
    motion.singular = True
    (answer, _) = client.motion.predict(scene())
    assert answer.total is not None
    assert (answer.data, answer.knowledge) == (None, None)
    assert "knowledge" not in answer.summary()


def test_a_withheld_prediction_is_only_a_decision(client, motion):
    motion.withhold = True
    shown, hidden = client.motion.predict(scene())
    assert shown.best is not None
    assert hidden.decision == "defer"
    assert hidden.remarks != ()
    arrays = ("trajectories", "scene_trajectories", "confidences", "scores", "total", "data", "knowledge", "best")
    assert [getattr(hidden, name) for name in arrays] == [None] * len(arrays)
    assert len(hidden.times) == 0
    assert "prediction withheld" in repr(hidden)
    assert "prediction withheld" in hidden.summary()
    assert hidden.agent.pose is not None, "where it was asked about is no prediction"


def test_scenes_are_paths_bytes_or_messages(client, motion, tmp_path):
    content = scene().SerializeToString()
    path = tmp_path / "scene.pb"
    path.write_bytes(content)
    for source in (path, str(path), content, bytearray(content), memoryview(content), scene(), demur.Scene(path)):
        assert len(client.motion.predict(source)) == 2
    assert [request.scene for request in motion.requests] == [content] * 7


def test_tracks_are_chosen(client, motion):
    for ids in ([9], np.array([9]), (9,)):
        (answer,) = client.motion.predict(scene(), track_ids=ids)
        assert answer.agent.track_id == 9
    (answer,) = client.motion.predict(demur.Scene(scene(), [9]))
    assert answer.agent.track_id == 9
    with pytest.raises(demur.InvalidInput, match="track 8 is not in the scene") as caught:
        client.motion.predict(scene(), track_ids=[9, 8])
    assert (caught.value.field, caught.value.value, caught.value.index) == ("track_ids", "8", 1)


def test_maps_are_arrays_or_official_files(client, motion, tmp_path):
    features = maps(3, 4)
    for given_ in (features, features.astype(np.float64), features.tolist(), list(features), demur.Maps(features)):
        answers = client.motion.predict(given_)
        np.testing.assert_array_equal(answers[1].trajectories, plans(4))
        assert answers[1].agent == demur.Agent()
        assert answers[1].scene_trajectories is None
    (answer,) = client.motion.predict(features[0])
    np.testing.assert_array_equal(answer.trajectories, plans(3))
    path = tmp_path / "ab_c_12.npy"
    path.write_bytes(map_file(6))
    for files in (path, str(path), [path], [str(path)], demur.Maps([path]), demur.Maps(path)):
        (answer,) = client.motion.predict(files)
        np.testing.assert_array_equal(answer.trajectories, plans(6))
        assert answer.agent == demur.Agent("ab_c", 12), "the official name says whose map it is"
    (other,) = client.motion.predict([map_file(7)])
    assert other.agent == demur.Agent()
    assert {request.WhichOneof("input") for request in motion.requests} == {"tensor", "rendered"}


def test_agents_of_maps_give_the_frame_of_the_scene(client):
    pose = demur.Pose(100.0, 50.0, math.pi / 2)
    agents = [demur.Agent("s", 5, pose), demur.Agent("s", 6)]
    first, second = client.motion.predict(maps(3, 4), agents=agents)
    assert [first.agent, second.agent] == agents
    np.testing.assert_allclose(first.scene_trajectories[0, -1], [100, 65], rtol=0, atol=tolerance(100, 4))
    assert second.scene_trajectories is None
    with pytest.raises(demur.InvalidInput, match="pose of the agent is not known"):
        second.to_agent_frame([[0, 0]])
    (named,) = client.motion.predict([map_file(1)], agents=[agents[0]])
    assert named.agent == agents[0]


def test_explored_requests_can_be_committed(client, motion):
    answers = client.motion.predict(scene(), purpose="explore")
    assert client.motion.commit(answers).units == 2
    assert client.motion.commit(answers[1]).units == 1
    (unit,) = motion.commits[1].units
    assert (unit.epoch, unit.first, unit.count) == (0xD0, 1, 1)


metres = st.floats(-1e5, 1e5)


@given(x=metres, y=metres, yaw=st.floats(-10, 10), there=st.lists(st.tuples(metres, metres), min_size=1, max_size=30))
def test_the_two_frames_are_each_others_inverse(x, y, yaw, there):
    pose = demur.Pose(x, y, yaw)
    near = pose.to_agent_frame(there)
    np.testing.assert_allclose(pose.to_scene(near), there, atol=1e-6)
    np.testing.assert_allclose(
        np.linalg.norm(near, axis=1), np.linalg.norm(np.subtract(there, (x, y)), axis=1), atol=1e-6
    )
    np.testing.assert_allclose(pose.to_scene([0.0, 0.0]), (x, y))
    ahead = pose.to_scene([[1.0, 0.0], [0.0, 1.0]]) - (x, y)
    np.testing.assert_allclose(ahead, [[math.cos(yaw), math.sin(yaw)], [-math.sin(yaw), math.cos(yaw)]], atol=1e-9)


def test_logged_futures_become_labels(client, motion):
    (answer, _) = client.motion.predict(scene())
    logged = [[step.tracks[0].position.x, step.tracks[0].position.y] for step in scene().future_vehicle_tracks]
    truth = answer.to_agent_frame(logged)
    np.testing.assert_allclose(truth, plans(10)[0], rtol=0, atol=tolerance(50, 4))  # m, float32 there
    np.testing.assert_allclose(answer.to_scene(truth), logged, atol=1e-9)
    partial = answer.to_agent_frame([*logged[:3], None, *logged[4:]])
    assert np.isnan(partial[3]).all()
    np.testing.assert_array_equal(np.delete(partial, 3, 0), np.delete(truth, 3, 0))
    by_hand = [*truth[:3].tolist(), None, *truth[4:].tolist()]
    labels = [demur.Label(answer.prediction_id, value) for value in (truth, partial, by_hand)]
    assert client.labels.submit(labels).outcomes == ("accepted",) * 3
    sent = [np.frombuffer(label.value.doubles, "<f8").reshape(-1, 2) for label in motion.given]
    for value, expected in zip(sent, (truth, partial, partial), strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("points", [3.0, [1.0, 2.0, 3.0], [[1.0, 2.0], "x"], np.zeros((3, 3)), [], None, [[1, 2, 3]]])
def test_what_are_no_positions_is_refused(client, points):
    (answer, _) = client.motion.predict(scene())
    for ask in (answer.to_agent_frame, answer.to_scene):
        with pytest.raises(demur.InvalidInput, match="positions") as caught:
            ask(points)
        assert caught.value.field == "points"


def test_a_vehicle_last_seen_a_while_ago_says_so(client):
    message = scene()
    del message.past_vehicle_tracks[-1].tracks[0]
    first, second = client.motion.predict(message)
    assert first.unseen_seconds == pytest.approx(0.2)
    assert second.unseen_seconds is None
    assert "last seen 0.2 s ago" in first.summary()


def test_plain_values_are_json(client, motion):
    motion.spoilt = {1}
    answers = client.motion.predict(scene("s", (7, 1, 9)))
    document = json.loads(json.dumps(answers.to_dict()))
    assert [answer["agent"]["track_id"] for answer in document["answers"]] == [7, 9]
    assert document["answers"][0]["agent"]["pose"] == {"x": 1000, "y": -500, "yaw": 0.5}
    assert np.shape(document["answers"][0]["trajectories"]) == (5, STEPS, 2)
    assert document["answers"][1]["deferred"] is True
    assert document["answers"][1]["remarks"][0]["code"] == "fast"
    assert document["failures"] == [{"item": 1, "track_id": 1, "error": "position.x is nan m"}]
    assert {document["profile"], *(answer["profile"] for answer in document["answers"])} == {PROFILE}


def test_what_it_shows_of_itself_is_readable(client):
    answers = client.motion.predict(scene())
    first, second = answers
    assert repr(answers) == "<MotionAnswers: 's', 2 requests, 1 deferred, 1 shifted, model 'motion:1'>"
    expected = "<MotionAnswer: scene s, track 7, 50.0 m ahead, 0.0 m left in 5 s with 0.63, answered, model 'motion:1'>"
    assert repr(first) == expected
    summary = first.summary()
    assert "scene s, track 7: answered" in summary
    assert "request_uncertainty 5 <= 10, policy p1" in summary
    assert summary.endswith(f"model motion:1, profile {PROFILE}")
    assert "total spread" in summary
    assert "unlike the training requests: outside_training_range" in second.summary()
    assert "fast: speed is 50 m/s" in second.summary()
    assert max(map(len, answers.summary().splitlines())) <= 120
    (named,) = client.motion.predict([map_file(1)])
    assert "request 0" in repr(named)


def test_the_motion_of_the_readme_runs(target, motion, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("scene.pb", "a.pb"):
        (tmp_path / name).write_bytes(scene().SerializeToString())
    readme.run("motion", "127.0.0.1:4003", target)
    output = capsys.readouterr().out
    assert "scene s, track 7: answered" in output
    assert "b.pb cannot be read" in output, "the one that is not there"
    assert len(motion.given) == 1
