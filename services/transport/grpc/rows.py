"""The gRPC binding of tabular tasks: their messages share field names, only types and heads differ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from demur.v1 import common_pb2
from models.head import Head
from services.ledger.contract import Portion
from services.request.contract import Description, Priority
from services.request.pipeline import Pipeline
from services.request.row_task import RowsRequest
from services.transport import head_answer
from services.transport.answer import ORIGIN_OF_ALL, AnswerField, Record
from services.transport.binding import GrpcBinding, Options, message_of
from services.transport.grpc import codec
from services.transport.grpc.answer_message import Filler, filler
from services.transport.grpc.chunks import ChunkFrames, ChunkMessages, ChunkReader, StreamOptions


@dataclass(frozen=True)
class RowMessages:
    """Message types of a tabular task."""

    request: Any
    response: Any
    stream_request: Any
    stream_response: Any


def row_binding(
    service: str,
    messages: RowMessages,
    description: Description,
    pipeline: Pipeline[Any, Any],
    intervals: head_answer.IntervalTables,
    *,
    quantum_rows: Callable[[], int],
    window_chunks: int,
) -> GrpcBinding:
    """Return prediction, streams and description of a task whose items are rows."""
    schema = description.schema
    assert schema is not None
    names = tuple(head.name for head in description.heads)
    fill = _filler(description.heads, messages.response)

    def read(message: Any) -> tuple[RowsRequest, Options]:
        return rows_request(message.rows, message), codec.options(message, names)

    def rows_request(rows: Any, options: Any) -> RowsRequest:
        return RowsRequest(codec.rows(rows, schema), options.members, codec.intervals_option(options))

    def answer(answers: list[Portion]) -> Any:
        (portion,) = answers
        tables = head_answer.requested_intervals(portion, intervals)
        return fill(
            {
                "model": portion.model,
                "profile": portion.profile,
                "recorded": portion.recorded,
                **{head: decided(portion, head, tables) for head in portion.verdicts},
                "shifted_inputs": codec.shifted_inputs(portion.payload.departures(portion.verdicts), description),
            }
        )

    def decided(portion: Portion, head: str, tables: head_answer.IntervalTables) -> dict[str, Any]:
        record = head_answer.record(portion, head)
        if "mean" in record:
            return record | {"intervals": codec.intervals(tables[head])} if head in tables else record
        return record | {"classes": record["probabilities"].shape[1]}

    stream = ChunkMessages(
        messages.stream_request,
        messages.stream_response,
        lambda: ChunkReader(names, lambda chunk, begin: rows_request(chunk.rows, begin)),
        answer,
    )
    manner = StreamOptions(window_chunks, quantum_rows, purpose="explore", priority=Priority.BULK, progress=False)
    return GrpcBinding(
        service=service,
        request=message_of(messages.request),
        response=message_of(messages.response),
        read=read,
        answer=answer,
        describe=lambda: codec.describe(description, pipeline.policies.all(), intervals),
        describe_messages=(message_of(common_pb2.DescribeRequest), message_of(common_pb2.DescribeResponse)),
        stream=ChunkFrames(stream, manner, description, pipeline),
        as_sdk_0_1=_with_intervals,
    )


def _filler(heads: Sequence[Head], response: Any) -> Filler:
    """Return a function that fills a response: heads by name in the field ``heads``, or in fields of their own."""
    answered = head_answer.answered(tuple(heads))
    shared = (*ORIGIN_OF_ALL, head_answer.SHIFTED_INPUTS)
    by_name = response.DESCRIPTOR.fields_by_name.get("heads")
    if by_name is None:
        return filler((*shared, *answered), response)
    of_head = GetMessageClass(by_name.message_type.fields_by_name["value"].message_type)
    fill = filler((*shared, AnswerField("heads", dtype="record", prepared=True)), response)
    parts: dict[str, tuple[str, Filler]] = {}
    for head, field in zip(heads, answered, strict=True):
        of_kind = of_head.DESCRIPTOR.fields_by_name[head.kind].message_type
        assert isinstance(of_kind, Descriptor)
        parts[head.name] = head.kind, filler(field.fields, GetMessageClass(of_kind))

    def fill_by_name(record: Record) -> Any:
        filled = {
            name: of_head(**{kind: of_kind(record[name])}) for name, (kind, of_kind) in parts.items() if name in record
        }
        return fill({name: value for name, value in record.items() if name not in parts} | {"heads": filled})

    return fill_by_name


def _with_intervals(message: Any) -> Any:
    """Request the tables of intervals, which SDK 0.1 reads from each answer; ``message`` is a request or a frame."""
    if "intervals" in message.DESCRIPTOR.fields_by_name:
        message.intervals = True
    elif message.HasField("begin"):  # the SDK begins each stream so
        message.begin.intervals = True
    return message
