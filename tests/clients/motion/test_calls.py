"""Calls of any size over a real socket: many messages, streams, wishes, and what fails in them."""

import re

import numpy as np
import pytest

import demur
from demur.v1 import common_pb2 as common
from demur.v1 import motion_pb2 as wire
from models.tasks.motion.protocol.motion_pb2 import Submission
from tests.clients.motion.service import (
    SIZE,
    map_file,
    maps,
    plans,
    scene,
)


def test_what_does_not_fit_a_message_goes_in_several(client, motion):
    features = np.broadcast_to(np.float32(3), (30, 17, 128, 128))
    right = motion.answer
    motion.answer = lambda request, manner: right(smaller(request), manner)
    answers = client.motion.predict(features, agents=[demur.Agent("s", n) for n in range(30)], submission=True)
    assert [answer.item for answer in answers] == list(range(30))
    assert [answer.agent.track_id for answer in answers] == list(range(30))
    assert [len(request.tensor.agents) for request in motion.requests] == [15, 15]
    message = Submission.FromString(answers.submission)
    assert [prediction.track_id for prediction in message.predictions] == list(range(30))
    motion.answer = right
    motion.requests.clear()
    files = client.motion.predict([map_file(n) for n in range(70)])
    assert [len(request.rendered.files) for request in motion.requests] == [64, 6]
    np.testing.assert_array_equal(files[69].trajectories, plans(69))
    motion.spoilt = {66}
    agents = [demur.Agent("s", n) for n in range(70)]
    some = client.motion.predict([map_file(n) for n in range(70)], agents=agents)
    assert [(failure.item, failure.track_id) for failure in some.failures] == [(66, 66)]


async def test_what_does_not_fit_a_message_goes_in_several_asynchronously(target):
    async with demur.aconnect(target, timeout=10) as other:
        assert len(await other.motion.predict([map_file(n) for n in range(70)])) == 70


def test_files_go_in_as_many_messages_as_their_bytes_need(client, motion):
    sent = []
    motion.answer = lambda request, manner: sent.append(len(request.rendered.files)) or wire.MotionPredictResponse()
    client.motion.predict([bytes(6 << 20)] * 5)
    assert sent == [2, 2, 1]


def smaller(request):
    """The same maps on the grid of the stand-in."""
    values = np.frombuffer(request.tensor.values, "<f4").reshape(-1, 17, 128, 128)
    request.tensor.values = np.ascontiguousarray(values[:, :, :SIZE, :SIZE]).tobytes()
    return request


@pytest.mark.parametrize(
    ("asked", "more", "field", "says"),
    [
        ("/nowhere/a.pb", {}, "scene", "/nowhere/a.pb cannot be read: No such file"),
        (["/nowhere/a.npy"], {}, "maps[0]", "maps[0]: /nowhere/a.npy cannot be read"),
        (b"", {}, "scene", "scene is empty"),
        (None, {}, "scene", "a scene (its path, bytes or protobuf message)"),
        (7, {}, "scene", "scene is 7"),
        ({"id": "s"}, {}, "scene", "a scene (its path"),
        ([], {}, "maps", "an array [0]"),
        (np.zeros((2, 3)), {}, "maps", "an array [2, 3]"),
        (np.array(["a"]), {}, "maps", "not real numbers"),
        (b"s", {"track_ids": []}, "track_ids", "one or more whole numbers"),
        (b"s", {"track_ids": [1.5]}, "track_ids", "one or more whole numbers"),
        (b"s", {"track_ids": [-1]}, "track_ids", "one or more whole numbers"),
        (b"s", {"track_ids": 4}, "track_ids", "one or more whole numbers"),
        (maps(1), {"track_ids": [1]}, "track_ids", "maps have agents"),
        (demur.Scene(b"s", [1]), {"track_ids": [1]}, "track_ids", "does not name them itself"),
        (b"s", {"agents": [demur.Agent()]}, "agents", "scenes have track_ids"),
        (maps(1, 2), {"agents": [demur.Agent()]}, "agents", "agents is '1 of them'; allowed: 2, one for each map"),
        ([map_file()], {"agents": [demur.Agent()] * 2}, "agents", "2 of them"),
    ],
)
def test_what_is_no_question_is_refused_before_anything_is_sent(client, motion, asked, more, field, says):
    with pytest.raises(demur.InvalidInput, match=re.escape(says)) as caught:
        client.motion.predict(asked, **more)
    assert caught.value.field == field
    assert motion.requests == []


def test_what_no_message_can_hold_is_refused_before_it_is_sent(client, motion):
    for source in (bytes(17 << 20), [bytes(17 << 20)], np.zeros((1, 17, 512, 512), np.float32)):
        with pytest.raises(demur.TooLarge, match="one message holds 16.0 MB"):
            client.motion.predict(source)
    assert motion.requests == []


def test_wishes_travel(client, motion):
    answers = client.motion.predict(scene(), purpose="explore", defer_above=1.0, submission=True)
    assert (answers[0].decision, answers[0].recorded) == ("caller_deferred", False)
    (request,) = motion.requests
    assert (request.purpose, request.defer_above, request.submission) == (common.PURPOSE_EXPLORE, 1.0, True)
    assert len(Submission.FromString(answers.submission).predictions) == 2
    assert client.motion.predict(scene()).submission == b""
    list(client.motion.predict_many([scene()], purpose="replay", defer_above=2.0, submission=True))
    (begin,) = motion.begins
    assert (begin.purpose, begin.defer_above, motion.requests[-1].submission) == (common.PURPOSE_REPLAY, 2.0, True)


def test_a_request_that_fails_spoils_no_other(client, motion):
    motion.spoilt = {7}
    answers = client.motion.predict(scene())
    (streamed,) = client.motion.predict_many([scene()])
    for result in (answers, streamed):
        assert [answer.agent.track_id for answer in result] == [9]
        assert [answer.item for answer in result] == [1]
        ((item, track, error),) = [(failure.item, failure.track_id, failure.error) for failure in result.failures]
        assert (item, track, error.code, error.field) == (0, 7, "not_finite", "position.x")
        assert not result.answered
        assert "1 failed" in repr(result)
        assert "track 7: failed: position.x is nan m" in result.summary()
        with pytest.raises(demur.InvalidInput, match="position.x is nan"):
            result.check()
    motion.spoilt = {7, 9}
    with pytest.raises(demur.InvalidInput, match="position.x is nan"):
        client.motion.predict(scene())


def test_a_question_that_fails_does_not_end_the_stream(client, motion, tmp_path):
    motion.spoilt = {3}
    questions = [
        scene("a"),
        b"\xff",
        "/nowhere/c.pb",
        demur.Scene(scene(), [1]),
        maps(2),
        [b"bad"],
        5,
        scene("b", (3, 4)),
    ]
    outcomes = list(client.motion.predict_many(questions))
    failed = {outcome.position: outcome.error.code for outcome in outcomes if isinstance(outcome, demur.ChunkError)}
    assert failed == {1: "not_a_scene", 2: "unreadable", 3: "unknown_track", 5: "not_a_map", 6: "invalid_argument"}
    assert [outcome.scene_id for outcome in (outcomes[0], outcomes[4], outcomes[7])] == ["a", "", "b"]
    assert len(outcomes[7].failures) == 1
    assert len(motion.begins) == 1


@pytest.mark.parametrize("what", ["model", "profile"])
def test_a_model_or_profile_that_changes_within_a_question_is_the_services_failure(client, motion, what):
    right = motion.answer

    def other(*arguments):
        response = right(*arguments)
        setattr(response, what, f"other-{len(motion.requests)}")
        return response

    motion.answer = other
    with pytest.raises(demur.ServiceFailure, match=f"the {what} changed") as caught:
        client.motion.predict([map_file(n) for n in range(70)])
    assert caught.value.code == f"{what}_changed"


def test_a_service_that_tells_no_profile_is_understood(client, motion):
    right = motion.answer

    def older(*arguments):
        response = right(*arguments)
        response.ClearField("profile")
        return response

    motion.answer = older
    answers = client.motion.predict([map_file(n) for n in range(70)])
    assert answers.profile == answers[0].profile == ""
    assert answers[0].summary().endswith("model motion:1")
