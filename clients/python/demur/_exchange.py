"""One stream from the caller's side, without input or output.

The synchronous and the asynchronous client move frames; what may be sent, which batch a frame belongs to
and when a batch is complete is decided here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from demur._errors import DemurError, InvalidInput, ServiceFailure, TooLarge, from_detail, wrong_argument
from demur._window import Window

A = TypeVar("A")
Q = TypeVar("Q")
QuestionT = TypeVar("QuestionT", contravariant=True)

CHUNK_BYTES = 16 * 2**20 - 2**12
"""Of the numbers of one chunk: the contract's 16 MB message, less room for what stands around them."""

OnError: TypeAlias = Literal["raise", "yield"]


def _unheard(told: Any) -> None:
    """What a task does not listen to."""


@dataclass(frozen=True, slots=True)
class Part(Generic[A]):
    """A part of a batch that goes in one chunk, and who understands what is said of it."""

    first: int
    """Index of its first unit in the batch."""
    frame: Callable[[int], Any]
    """Makes its frame, given the number of the chunk."""
    decode: Callable[[Any], A]
    """What the chunk was answered, given the answer's message."""
    tell: Callable[[Any], None] = _unheard
    """Takes a message about the chunk that comes before its answer, in a frame of the task's own kind."""


class Chunks(Protocol[QuestionT, A]):
    """What a task's stream asks and is answered, chunk by chunk."""

    begin: Any
    """The first frame to send."""

    def cut(self, question: QuestionT, /) -> Sequence[Part[A]]:
        """The chunks of a batch, at least one.

        Raises:
            InvalidInput, TooLarge: it is no question.
        """
        ...

    def join(self, parts: Sequence[A]) -> A:
        """One answer for the chunks of a batch, at least one."""
        ...

    def refused(self, error: DemurError) -> None:
        """Take note of why a batch failed."""
        ...


@dataclass(frozen=True, slots=True)
class ChunkError:
    """Stands where the answer to a batch would: this batch failed, the stream goes on."""

    position: int
    """Which batch of the stream, from 0."""
    error: DemurError


@dataclass(eq=False, slots=True)
class _Batch(Generic[A]):
    position: int
    waiting: int = 0
    """Chunks not yet answered."""
    parts: list[A] = field(default_factory=list)
    error: DemurError | None = None


@dataclass(frozen=True, slots=True)
class _Sent(Generic[A]):
    """A chunk in flight; its frame is not kept."""

    batch: _Batch[A]
    first: int
    decode: Callable[[Any], A]
    tell: Callable[[Any], None]


class Exchange(Generic[Q, A]):
    """State of one stream: batches in, chunk frames out; response frames in, one outcome a batch out.

    Raises:
        InvalidInput: options that mean nothing.
    """

    def __init__(self, chunks: Chunks[Q, A], *, window: int | None, on_error: OnError) -> None:
        if on_error not in ("raise", "yield"):
            raise wrong_argument("on_error", on_error, "raise, yield")
        self._asked = chunks
        self._window = Window(window)
        self._raises = on_error == "raise"
        self._batches: deque[_Batch[A]] = deque()  # not yet handed over
        self._chunks: deque[_Sent[A]] = deque()  # in flight
        self._offered = 0
        self._sent = 0
        self._failed = False
        self.open = True
        """Whether the service may still send frames."""
        self.begin = chunks.begin
        """The first frame to send."""

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end; the former bounds the window.

        Raises:
            ServiceFailure: it is not that frame.
        """
        self._window.accept(frame)

    @property
    def full(self) -> bool:
        """Whether an answer must be received before the next chunk is sent."""
        return self._window.filled(len(self._chunks))

    @property
    def finishing(self) -> bool:
        """Whether a batch failed that will be raised, so that no more batches are drawn."""
        return self._failed and self._raises

    def offer(self, question: Q) -> Iterator[Any]:
        """The frames of the caller's next batch, to be sent one by one while not ``full``."""
        batch: _Batch[A] = _Batch(self._offered)
        self._offered += 1
        self._batches.append(batch)
        try:
            parts = self._asked.cut(question)
        except (InvalidInput, TooLarge) as error:
            self._fail(batch, error)
            return
        batch.waiting = len(parts)
        for part in parts:
            frame = part.frame(self._sent)
            self._chunks.append(_Sent(batch, part.first, part.decode, part.tell))
            self._sent += 1
            yield frame

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end.

        Raises:
            ServiceFailure: an answer out of turn, a frame about no chunk in flight, or an end with chunks unanswered.
        """
        if frame is None:
            self.open = False
            if self._chunks:
                raise ServiceFailure(
                    f"the service ended the stream with {len(self._chunks)} chunks unanswered",
                    code="malformed",
                )
            return
        kind = frame.WhichOneof("frame")
        if kind == "result":
            sent = self._answered(frame.result.sequence)
            sent.batch.parts.append(sent.decode(frame.result.answer))
        elif kind == "error":
            if not frame.error.HasField("item"):  # of an item, the chunk's result is still to come
                sent = self._answered(frame.error.sequence)
                error = from_detail(frame.error.error)
                if isinstance(error, InvalidInput) and error.index is not None:
                    error.index += sent.first
                self._fail(sent.batch, error)
        elif kind not in (None, "accepted", "progress"):
            told = getattr(frame, kind)
            self._in_flight(told.sequence).tell(told)

    def outcomes(self) -> Iterator[A | ChunkError]:
        """Hand over the batches that are complete, in the caller's order.

        Raises:
            DemurError: of the first batch that failed, where failures are to be raised.
        """
        while self._batches and not self._batches[0].waiting:
            batch = self._batches.popleft()
            if batch.error is None:
                yield self._asked.join(batch.parts)
            elif self._raises:
                batch.error.add_note(f"in batch {batch.position} of the stream")
                raise batch.error
            else:
                yield ChunkError(batch.position, batch.error)

    def _answered(self, sequence: int) -> _Sent[A]:
        expected = self._sent - len(self._chunks)
        if not self._chunks or sequence != expected:
            raise ServiceFailure(f"an answer to chunk {sequence} instead of {expected}", code="malformed")
        sent = self._chunks.popleft()
        sent.batch.waiting -= 1
        return sent

    def _in_flight(self, sequence: int) -> _Sent[A]:
        place = sequence - (self._sent - len(self._chunks))
        if not 0 <= place < len(self._chunks):
            raise ServiceFailure(f"a frame about chunk {sequence}, which is not on its way", code="malformed")
        return self._chunks[place]

    def _fail(self, batch: _Batch[A], error: DemurError) -> None:
        batch.error = batch.error or error
        self._failed = True
        self._asked.refused(error)
