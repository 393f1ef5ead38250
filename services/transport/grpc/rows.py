"""The gRPC binding of tabular tasks: their messages share field names, only types and heads differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from demur.v1 import common_pb2
from models.calibration import IntervalTable
from services.errors import InvalidInput
from services.pipeline import Description, Pipeline, Portion, Purpose
from services.rows import RowsRequest
from services.transport.binding import Begin, Chunk, GrpcBinding, Message, Options
from services.transport.grpc import heads
from services.transport.grpc.status import detail
from services.work import Priority, Progress


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
    tables = {head: heads.intervals(table) for head, table in intervals.items()}
    names = tuple(head.name for head in description.heads)

    def read(message: Any) -> tuple[RowsRequest, Options]:
        return RowsRequest(heads.rows(message.rows), message.members), heads.options(message, names)

    def answer(answers: list[Portion]) -> Any:
        (portion,) = answers
        decided = {head: heads.encode(portion, head, tables[head]) for head in portion.verdicts}
        return messages.response(model=portion.model, recorded=portion.recorded, **decided)

    return GrpcBinding(
        service=service,
        request=message_of(messages.request),
        response=message_of(messages.response),
        read=read,
        answer=answer,
        describe=lambda: heads.describe(description, pipeline.policies.all()),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=RowFrames(messages, answer, description, pipeline, quantum_rows, window_chunks),
    )


def message_of(kind: Any) -> Message:
    """A protobuf type as bytes in, bytes out."""
    return Message(kind.FromString, kind.SerializeToString)


class RowFrames:
    """Frames of a tabular stream."""

    purpose: Purpose = "explore"
    priority: Priority | None = Priority.BULK

    def __init__(
        self,
        messages: RowMessages,
        answer: Callable[[list[Portion]], Any],
        description: Description,
        pipeline: Pipeline[Any, Any],
        quantum_rows: Callable[[], int],
        window_chunks: int,
    ) -> None:
        self.request = message_of(messages.stream_request)
        self.response = message_of(messages.stream_response)
        self._frame = messages.stream_response
        self._answer = answer
        self._model = description.model
        self._heads = tuple(head.name for head in description.heads)
        self._policies = pipeline.policies
        self._quantum_rows = quantum_rows
        self._window_chunks = window_chunks

    def reader(self) -> RowReader:
        return RowReader(self._heads)

    def accepted(self) -> Any:
        return self._frame(
            accepted=common_pb2.StreamAccepted(
                model=self._model,
                policy=",".join(policy.version for policy in self._policies.all()),
                quantum_rows=self._quantum_rows(),
                window_chunks=self._window_chunks,
            )
        )

    def item(self, sequence: int, answer: Portion) -> None:
        """All rows of a chunk are one portion."""
        return None

    def progress(self, sequence: int, progress: Progress) -> None:
        """Chunks of rows are short."""
        return None

    def results(self, sequence: int, answers: list[Any]) -> list[tuple[Any, int]]:
        frame = self._frame()
        frame.result.sequence = sequence
        frame.result.answer.MergeFrom(self._answer(answers))
        return [(frame, sum(portion.count for portion in answers))]

    def failed(self, sequence: int, error: Any) -> Any:
        return self._frame(error=common_pb2.ItemError(sequence=sequence, error=detail(error)))

    def ended(self, chunks: int, units: int) -> Any:
        return self._frame(progress=common_pb2.StreamProgress(chunks_done=chunks, units_done=units))


class RowReader:
    """Reads the frames of one tabular stream."""

    def __init__(self, heads: tuple[str, ...]) -> None:
        self._heads = heads
        self._begun = False
        self._members = False

    def read(self, frame: Any) -> Begin | Chunk:
        kind = frame.WhichOneof("frame")
        if kind == "begin":
            if self._begun:
                raise InvalidInput("a stream begins once; open another stream for other wishes", code="begun_twice")
            self._begun, self._members = True, frame.begin.members
            return Begin(heads.options(frame.begin, self._heads))
        if kind == "chunk":
            self._begun = True
            return Chunk(frame.chunk.sequence, _request(frame.chunk.rows, self._members))
        raise InvalidInput("a frame of this stream is neither begin nor chunk", code="empty_frame")


def _request(message: Any, members: bool) -> RowsRequest | InvalidInput:
    """A chunk without rows is refused as a chunk, it does not end the stream."""
    try:
        return RowsRequest(heads.rows(message), members)
    except InvalidInput as error:
        return error
