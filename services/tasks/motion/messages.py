"""Motion as protobuf messages: single calls, and streams of them."""

from collections.abc import Callable
from typing import Any

from demur.v1 import common_pb2, motion_pb2
from services.request.contract import Description
from services.request.pipeline import Pipeline
from services.runtime.errors import InvalidInput
from services.tasks.motion import presentation
from services.tasks.motion.answer import ANSWER, HEAD, SUBMISSION
from services.tasks.motion.request import (
    AgentRef,
    Form,
    MotionRequest,
    Pose,
    RenderedForm,
    SceneForm,
    TensorForm,
    without_tracks,
)
from services.transport.binding import GrpcBinding, Options, message_of
from services.transport.grpc import codec
from services.transport.grpc.answer_message import filler
from services.transport.grpc.chunks import ChunkFrames, ChunkMessages, ChunkReader, StreamOptions, check_of_chunk

SERVICE = "demur.v1.MotionService"
_HEADS = (HEAD,)
_FILL = filler(ANSWER, motion_pb2.MotionPredictResponse)


def binding(
    description: Description, pipeline: Pipeline[Any, Any], *, quantum_rows: Callable[[], int], window_chunks: int
) -> GrpcBinding:
    """Return the gRPC service of motion."""
    messages = ChunkMessages(
        motion_pb2.MotionStreamRequest,
        motion_pb2.MotionStreamResponse,
        lambda: ChunkReader(_HEADS, lambda chunk, _: _of_chunk(chunk)),
        answer,
    )
    manner = StreamOptions(window_chunks, quantum_rows, purpose="decide", priority=None, progress=True)
    return GrpcBinding(
        service=SERVICE,
        request=message_of(motion_pb2.MotionPredictRequest),
        response=message_of(motion_pb2.MotionPredictResponse),
        read=read,
        answer=answer,
        describe=lambda: codec.describe(description, pipeline.policies.all()),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=ChunkFrames(messages, manner, description, pipeline),
    )


def read(message: Any) -> tuple[MotionRequest, Options]:
    """Read a request from one message.

    Raises:
        InvalidInput: neither scene nor maps, tracks of maps, or an unknown purpose.
    """
    return MotionRequest(_form(message), message.submission), codec.options(message, _HEADS)


def answer(answers: list[Any]) -> Any:
    """Return the message of a call.

    Raises:
        DemurError: see ``presentation.answered``.
    """
    call = presentation.answered(answers)
    submission = presentation.submission(call) if call.call_data.submission else b""
    return _FILL(call.record() | {SUBMISSION: submission})


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


def _agents(message: Any) -> tuple[AgentRef, ...]:
    return tuple(
        AgentRef(
            agent.scene_id,
            agent.track_id,
            Pose(agent.pose.x, agent.pose.y, agent.pose.yaw) if agent.HasField("pose") else None,
        )
        for agent in message.agents
    )
