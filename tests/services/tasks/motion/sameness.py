"""Answers of both protocols, compared."""

import numpy as np

from demur.v1 import motion_pb2
from services.tasks.motion.answer import ARRAYS
from tests.services.tasks.motion.conftest import Json
from tests.services.tasks.served_task import same_deferral


def numbers(message: motion_pb2.MotionAnswer, name: str) -> np.ndarray:
    """An array of an answer, in the shape that JSON has."""
    kind = "<f8" if name == "scene_trajectories" else "<f4"
    flat = np.frombuffer(getattr(message, name), kind)
    return flat.reshape(message.modes, message.steps, 2) if "trajectories" in name else flat


def timeless(answer: Json) -> Json:
    """Without what differs from call to call."""
    return {name: value for name, value in answer.items() if name != "prediction_id"}


def same(answer: Json, message: motion_pb2.MotionPredictResponse) -> None:
    """All that both protocols tell of a call."""
    assert (answer["model"], answer["scene_id"]) == (message.model, message.scene_id)
    assert answer["profile"] == message.profile != ""
    assert len(answer["answers"]) == len(message.answers)
    for json_answer, proto_answer in zip(answer["answers"], message.answers, strict=True):
        same_request(json_answer, proto_answer)
    assert [(failure["item"], failure["track_id"], failure["error"]["code"]) for failure in answer["failures"]] == [
        (failure.item, failure.track_id, failure.error.code) for failure in message.failures
    ]


def same_request(answer: Json, message: motion_pb2.MotionAnswer) -> None:
    assert (answer["item"], answer["recorded"]) == (message.item, message.recorded)
    same_deferral(answer, message.deferral)
    for name, key in [(field.name, field.json_name) for field in ARRAYS]:
        assert bool(getattr(message, name)) == (key in answer), name
        if key in answer:
            np.testing.assert_array_equal(np.asarray(answer[key], numbers(message, name).dtype), numbers(message, name))
    assert message.HasField("agent") == ("track_id" in answer)
    if "track_id" in answer:
        assert (answer["scene_id"], answer["track_id"]) == (message.agent.scene_id, message.agent.track_id)
    assert message.agent.HasField("pose") == ("pose" in answer)
    if "pose" in answer:
        pose = message.agent.pose
        assert answer["pose"] == {"x_m": pose.x, "y_m": pose.y, "yaw_rad": pose.yaw}
    assert message.HasField("unseen_seconds") == ("unseen_seconds" in answer)
    assert answer.get("unseen_seconds", 0.0) == message.unseen_seconds
    assert [(remark.code, remark.message, remark.value) for remark in message.remarks] == [
        (remark["code"], remark["message"], remark["value"]) for remark in answer["remarks"]
    ]
