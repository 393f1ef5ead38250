"""Motion as protobuf messages: single calls, and streams of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from demur.v1 import common_pb2, motion_pb2
from services.request.pipeline import Description, Pipeline
from services.runtime.errors import InvalidInput
from services.tasks.motion import words
from services.tasks.motion.request import (
    Form,
    MotionRequest,
    Pose,
    RenderedForm,
    SceneForm,
    TensorForm,
    Whose,
    without_tracks,
)
from services.tasks.motion.words import Said
from services.transport.binding import GrpcBinding, Options, message_of, stricter
from services.transport.grpc import heads
from services.transport.grpc.chunks import ChunkFrames, ChunkMessages, Manner, check_of_chunk
from services.transport.grpc.status import detail
from services.transport.http.single import remarked

SERVICE = "demur.v1.MotionService"
_HEADS = (words.HEAD,)


def binding(
    description: Description, pipeline: Pipeline[Any, Any], *, quantum_rows: Callable[[], int], window_chunks: int
) -> GrpcBinding:
    """The gRPC service of motion."""
    messages = ChunkMessages(
        motion_pb2.MotionStreamRequest, motion_pb2.MotionStreamResponse, lambda chunk, _: _of_chunk(chunk), answer
    )
    manner = Manner(window_chunks, quantum_rows, purpose="decide", priority=None, told=True)
    return GrpcBinding(
        service=SERVICE,
        request=message_of(motion_pb2.MotionPredictRequest),
        response=message_of(motion_pb2.MotionPredictResponse),
        read=read,
        answer=answer,
        describe=lambda: heads.describe(description, pipeline.policies.all()),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=ChunkFrames(messages, manner, description, pipeline),
    )


def read(message: Any) -> tuple[MotionRequest, Options]:
    """A request in one message.

    Raises:
        InvalidInput: neither scene nor maps, tracks of maps, or an unknown purpose.
    """
    wish = message.defer_above if message.HasField("defer_above") else None
    options = Options(heads.purpose(message.purpose), stricter(wish, _HEADS), message.plain)
    return MotionRequest(_form(message), message.submission), options


def answer(answers: list[Any]) -> Any:
    """All that became of a call.

    Raises:
        DemurError: see ``words.answered``.
    """
    found = words.answered(answers)
    return motion_pb2.MotionPredictResponse(
        model=found.model,
        profile=found.profile,
        scene_id=found.asked.scene_id,
        answers=[_answer(said) for said in found],
        failures=[
            motion_pb2.MotionFailure(item=one.item, track_id=found.asked.tracks[one.item], error=detail(one.error))
            for one in found.failures
        ],
        submission=words.submission(found) if found.asked.submission else b"",
    )


def _of_chunk(chunk: Any) -> MotionRequest:
    request = chunk.request
    check_of_chunk(request)
    return MotionRequest(_form(request), request.submission)


def _form(message: Any) -> Form:
    kind, tracks = message.WhichOneof("input"), tuple(message.track_ids)
    if kind == "scene":
        return SceneForm(message.scene, tracks)
    if kind == "tensor":
        return without_tracks(TensorForm(message.tensor.values, _agents(message.tensor)), tracks)
    if kind == "rendered":
        return without_tracks(RenderedForm(tuple(message.rendered.files), _agents(message.rendered)), tracks)
    raise InvalidInput("the request holds no input; fill scene, tensor or rendered", code="missing", field="scene")


def _agents(message: Any) -> tuple[Whose, ...]:
    return tuple(
        Whose(
            one.scene_id,
            one.track_id,
            Pose(one.pose.x, one.pose.y, one.pose.yaw) if one.HasField("pose") else None,
        )
        for one in message.agents
    )


def _answer(said: Said) -> Any:
    portion, arrays = said.portion, said.arrays
    found = motion_pb2.MotionAnswer(
        item=said.item,
        deferral=heads.deferral(portion, words.HEAD, said.index),
        recorded=portion.recorded,
        unseen_seconds=said.unseen_seconds,
        remarks=[motion_pb2.MotionRemark(**remarked(remark)) for remark in said.remarks],
    )
    for name, array in arrays.items():
        kind = "<f8" if array.dtype == np.float64 else "<f4"
        setattr(found, name, np.ascontiguousarray(array, kind).tobytes())
    if arrays:
        found.modes, found.steps = arrays["trajectories"].shape[:2]
    if (subject := said.subject) is not None:
        found.agent.scene_id, found.agent.track_id = subject.scene_id, subject.track_id
        if (pose := subject.pose) is not None:
            found.agent.pose.x, found.agent.pose.y, found.agent.pose.yaw = pose.x, pose.y, pose.yaw
    return found
