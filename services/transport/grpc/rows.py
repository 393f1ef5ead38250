"""The gRPC binding of tabular tasks: their messages share field names, only types and heads differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from demur.v1 import common_pb2
from models.calibration import IntervalTable
from services.ledger.contract import Portion
from services.request.pipeline import Description, Pipeline
from services.request.row_task import RowsRequest
from services.request.work import Priority
from services.transport.binding import GrpcBinding, Options, message_of
from services.transport.grpc import heads
from services.transport.grpc.chunks import ChunkFrames, ChunkMessages, Manner


@dataclass(frozen=True)
class RowMessages:
    """The message types of a tabular task."""

    request: Any
    response: Any
    stream_request: Any
    stream_response: Any


def row_binding(
    service: str,
    messages: RowMessages,
    description: Description,
    pipeline: Pipeline[Any, Any],
    intervals: Mapping[str, IntervalTable | None],
    *,
    quantum_rows: Callable[[], int],
    window_chunks: int,
) -> GrpcBinding:
    """Prediction, streams and description of a task whose items are rows."""
    schema = description.schema
    assert schema is not None
    names = tuple(head.name for head in description.heads)

    def read(message: Any) -> tuple[RowsRequest, Options]:
        return RowsRequest(heads.rows(message.rows, schema), message.members), heads.options(message, names)

    def answer(answers: list[Portion]) -> Any:
        (portion,) = answers
        decided = {head: heads.encode(portion, head, heads.intervals(intervals[head])) for head in portion.verdicts}
        origin = {"model": portion.model, "profile": portion.profile}
        shifted = heads.shifted_inputs(portion.payload.departures(portion.verdicts), description)
        return messages.response(**origin, recorded=portion.recorded, shifted_inputs=shifted, **decided)

    stream = ChunkMessages(
        messages.stream_request,
        messages.stream_response,
        lambda chunk, members: RowsRequest(heads.rows(chunk.rows, schema), members),
        answer,
    )
    manner = Manner(window_chunks, quantum_rows, purpose="explore", priority=Priority.BULK, told=False)
    return GrpcBinding(
        service=service,
        request=message_of(messages.request),
        response=message_of(messages.response),
        read=read,
        answer=answer,
        describe=lambda: heads.describe(description, pipeline.policies.all()),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=ChunkFrames(stream, manner, description, pipeline),
    )
