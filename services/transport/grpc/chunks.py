"""Streams in which each chunk is one message and ends with one result."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from demur.v1 import common_pb2
from services.ledger.contract import Portion, Purpose
from services.request.contract import Description, Priority, Progress
from services.request.pipeline import Pipeline
from services.runtime.errors import DemurError, InvalidInput
from services.transport.binding import Begin, Chunk, StreamReader, message_of
from services.transport.grpc import codec
from services.transport.grpc.status import detail


@dataclass(frozen=True)
class ChunkMessages:
    """Message types of such a stream, with functions that read and write them."""

    request: Any
    """Message type with ``begin`` and ``chunk``."""
    response: Any
    """Message type with ``accepted``, ``result``, ``progress`` and ``error``."""
    reader: Callable[[], StreamReader]
    """Function that makes the reader of a new stream."""
    answer: Callable[[list[Any]], Any]
    """Function that joins all answers of a chunk in one message."""
    item: Callable[[int, Any], Any | None] = lambda sequence, one: None
    """Function that returns the frame of an item, or of a failed one, while its chunk runs; None: it is sent with the
    result only. ``answer`` also gets the items that were sent before.
    """


@dataclass(frozen=True)
class StreamOptions:
    """Options of scheduling and progress for the chunks of a stream."""

    window_chunks: int
    quantum_rows: Callable[[], int]
    purpose: Purpose
    """Default purpose of streams."""
    priority: Priority | None
    """Priority of all chunks; None: by purpose."""
    progress: bool
    """True if callers get progress frames."""


class ChunkFrames:
    """Frames of a stream whose chunks end with one result."""

    def __init__(
        self, messages: ChunkMessages, manner: StreamOptions, description: Description, pipeline: Pipeline[Any, Any]
    ) -> None:
        self.request = message_of(messages.request)
        self.response = message_of(messages.response)
        self.purpose = manner.purpose
        self.priority = manner.priority
        self._messages = messages
        self._manner = manner
        self._model, self._profile = description.model, pipeline.profile
        self._policies = pipeline.policies

    def reader(self) -> StreamReader:
        return self._messages.reader()

    def accepted(self) -> Any:
        return self._messages.response(
            accepted=common_pb2.StreamAccepted(
                model=self._model,
                profile=self._profile,
                policy=",".join(policy.version for policy in self._policies.all()),
                quantum_rows=self._manner.quantum_rows(),
                window_chunks=self._manner.window_chunks,
            )
        )

    def item(self, sequence: int, answer: Any) -> tuple[Any, int] | None:
        frame = self._messages.item(sequence, answer)
        return None if frame is None else (frame, _units(answer))

    def progress(self, sequence: int, progress: Progress) -> Any | None:
        if not self._manner.progress:
            return None
        message = common_pb2.StreamProgress(sequence=sequence, fraction=progress.fraction, stage=progress.stage)
        return self._messages.response(progress=message)

    def results(self, sequence: int, answers: list[Any], sent_units: int) -> Iterator[tuple[Any, int]]:
        frame = self._messages.response()
        frame.result.sequence = sequence
        frame.result.answer.MergeFrom(self._messages.answer(answers))
        yield frame, sum(map(_units, answers)) - sent_units

    def failed(self, sequence: int, error: Any) -> Any:
        return self._messages.response(error=common_pb2.ItemError(sequence=sequence, error=detail(error)))

    def ended(self, chunks: int, units: int) -> Any:
        return self._messages.response(progress=common_pb2.StreamProgress(chunks_done=chunks, units_done=units))


class ChunkReader:
    """Reader of the frames of such a stream."""

    def __init__(self, heads: tuple[str, ...], read: Callable[[Any, Any], Any]) -> None:
        """Initialise a reader before the first frame.

        Args:
            read: turns a chunk, and the ``StreamBegin`` of the stream, into the pipeline's request. Quick; raises
                ``DemurError``.
        """
        self._heads = heads
        self._read = read
        self._begun = False
        self._begin = common_pb2.StreamBegin()

    def read(self, frame: Any) -> Begin | Chunk:
        kind = frame.WhichOneof("frame")
        if kind == "begin":
            if self._begun:
                raise InvalidInput("a stream begins once; open another stream for other wishes", code="begun_twice")
            self._begun, self._begin = True, frame.begin
            return Begin(codec.options(frame.begin, self._heads))
        if kind == "chunk":
            self._begun = True
            return Chunk(frame.chunk.sequence, self._request(frame.chunk))
        raise InvalidInput("a frame of this stream is neither begin nor chunk", code="empty_frame")

    def _request(self, chunk: Any) -> Any:
        """Return the request of a chunk, or its error, which does not end the stream."""
        try:
            return self._read(chunk, self._begin)
        except DemurError as error:
            return error


def check_of_chunk(request: Any) -> None:
    """Check that a request within a chunk has no options of the whole stream.

    Raises:
        InvalidInput: it has a purpose, a threshold, or the form of answers.
    """
    for name in ("purpose", "defer_above", "plain"):
        if request.HasField(name) if name == "defer_above" else getattr(request, name):
            raise InvalidInput(
                f"{name} is of the whole stream; set it in the begin frame", code="unknown_field", field=name
            )


def _units(answer: Any) -> int:
    return answer.count if isinstance(answer, Portion) else 0
