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
    for said, one in zip(answer["answers"], message.answers, strict=True):
        same_request(said, one)
    assert [(one["item"], one["track_id"], one["error"]["code"]) for one in answer["failures"]] == [
        (one.item, one.track_id, one.error.code) for one in message.failures
    ]


def same_request(said: Json, one: motion_pb2.MotionAnswer) -> None:
    assert (said["item"], said["recorded"]) == (one.item, one.recorded)
    same_deferral(said, one.deferral)
    for name, key in [(field.name, field.json_name) for field in ARRAYS]:
        assert bool(getattr(one, name)) == (key in said), name
        if key in said:
            np.testing.assert_array_equal(np.asarray(said[key], numbers(one, name).dtype), numbers(one, name))
    assert one.HasField("agent") == ("track_id" in said)
    if "track_id" in said:
        assert (said["scene_id"], said["track_id"]) == (one.agent.scene_id, one.agent.track_id)
    assert one.agent.HasField("pose") == ("pose" in said)
    if "pose" in said:
        pose = one.agent.pose
        assert said["pose"] == {"x_m": pose.x, "y_m": pose.y, "yaw_rad": pose.yaw}
    assert one.HasField("unseen_seconds") == ("unseen_seconds" in said)
    assert said.get("unseen_seconds", 0.0) == one.unseen_seconds
    assert [(remark.code, remark.message, remark.value) for remark in one.remarks] == [
        (remark["code"], remark["message"], remark["value"]) for remark in said["remarks"]
    ]
