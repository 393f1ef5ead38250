"""State of one stream, without input or output.

The blocking and the asynchronous client move frames; which frames may be sent, which batch a frame belongs to
and when a batch is complete is decided here.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from demur._errors import DemurError, InvalidInput, TooLarge, from_detail, wrong_argument
from demur._messages import malformed

A = TypeVar("A")
Q = TypeVar("Q")
RequestT = TypeVar("RequestT", contravariant=True)
OutcomeT = TypeVar("OutcomeT", covariant=True)

CHUNK_BYTES = 16 * 2**20 - 2**12
"""Bytes of the input of one chunk: the contract's 16 MB message, less room for its other fields."""

OnError: TypeAlias = Literal["raise", "yield"]


class StreamState(Protocol[RequestT, OutcomeT]):
    """State of one stream: requests in, frames out; response frames in, one outcome a request out."""

    begin: Any
    """The first frame to send."""

    @property
    def open(self) -> bool:
        """True while the service may still send frames."""
        ...

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end."""
        ...

    def offer(self, request: RequestT, /) -> Iterator[Any]:
        """Yield the frames of the caller's next request, to be sent one by one while not ``full``."""
        ...

    @property
    def full(self) -> bool:
        """True if an answer must be received before more is sent."""
        ...

    @property
    def finishing(self) -> bool:
        """True if no more requests are to be drawn."""
        ...

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end."""
        ...

    def outcomes(self) -> Iterator[OutcomeT]:
        """Yield outcomes that are complete and were not yielded yet, in the caller's order."""
        ...


class Window:
    """Bound on unanswered requests of a stream: the service's read-ahead, or the caller's smaller limit.

    Args:
        limit: the caller's; None for none.

    Raises:
        InvalidInput: less than one.
    """

    def __init__(self, limit: int | None) -> None:
        if limit is not None and limit < 1:
            raise wrong_argument("window", limit, "1 or more")
        self._size = limit

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end; the former bounds the window.

        Raises:
            ServiceFailure: it is another frame.
        """
        if frame is None or frame.WhichOneof("frame") != "accepted":
            raise malformed("the service did not accept the stream")
        offered = max(frame.accepted.window_chunks, 1)
        self._size = offered if self._size is None else min(self._size, offered)

    def filled(self, unanswered: int) -> bool:
        """Return whether this number of unanswered requests leaves no room."""
        return unanswered >= (self._size or 1)


def _ignore(message: Any) -> None:
    """Ignore a message that comes before an answer."""


@dataclass(frozen=True, slots=True)
class Part(Generic[A]):
    """Part of a batch that is sent in one chunk, and the functions that read what is received about it."""

    first: int
    """Index of its first unit in the batch."""
    frame: Callable[[int], Any]
    """Makes its frame, given the number of the chunk."""
    decode: Callable[[Any], A]
    """Returns the chunk's answer, given the answer's message."""
    early: Callable[[Any], None] = _ignore
    """Takes a message about the chunk that comes before its answer, in a frame of the task's own kind."""


class Chunks(Protocol[RequestT, A]):
    """Requests of a task's stream as chunks, and their answers."""

    begin: Any
    """The first frame to send."""

    def cut(self, request: RequestT, /) -> Sequence[Part[A]]:
        """Return the chunks of a batch, at least one.

        Raises:
            InvalidInput, TooLarge: the batch is invalid.
        """
        ...

    def join(self, parts: Sequence[A]) -> A:
        """Join the answers to the chunks of a batch, at least one."""
        ...

    def failed(self, error: DemurError) -> None:
        """Take note of the error of a batch."""
        ...


@dataclass(frozen=True, slots=True)
class ChunkError:
    """Takes the place of the answer to a batch that failed while the stream goes on."""

    position: int
    """Number of the batch in the stream, from 0."""
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
    """Chunk in flight; its frame is not kept."""

    batch: _Batch[A]
    first: int
    decode: Callable[[Any], A]
    early: Callable[[Any], None]


class Exchange(Generic[Q, A]):
    """State of one stream of chunks: batches in, chunk frames out; response frames in, one outcome a batch out.

    Raises:
        InvalidInput: an option has a value that is not allowed.
    """

    def __init__(self, chunks: Chunks[Q, A], *, window: int | None, on_error: OnError) -> None:
        if on_error not in ("raise", "yield"):
            raise wrong_argument("on_error", on_error, "raise, yield")
        self._source = chunks
        self._window = Window(window)
        self._raises = on_error == "raise"
        self._batches: deque[_Batch[A]] = deque()  # not yet yielded
        self._chunks: deque[_Sent[A]] = deque()  # in flight
        self._offered = 0
        self._sent = 0
        self._failed = False
        self.open = True
        """True while the service may still send frames."""
        self.begin = chunks.begin
        """The first frame to send."""

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end; the former bounds the window.

        Raises:
            ServiceFailure: it is another frame.
        """
        self._window.accept(frame)

    @property
    def full(self) -> bool:
        """True if an answer must be received before the next chunk is sent."""
        return self._window.filled(len(self._chunks))

    @property
    def finishing(self) -> bool:
        """True if a batch failed whose error will be raised, so that no more batches are drawn."""
        return self._failed and self._raises

    def offer(self, request: Q) -> Iterator[Any]:
        """Yield the frames of the caller's next batch, to be sent one by one while not ``full``."""
        batch: _Batch[A] = _Batch(self._offered)
        self._offered += 1
        self._batches.append(batch)
        try:
            parts = self._source.cut(request)
        except (InvalidInput, TooLarge) as error:
            self._fail(batch, error)
            return
        batch.waiting = len(parts)
        for part in parts:
            frame = part.frame(self._sent)
            self._chunks.append(_Sent(batch, part.first, part.decode, part.early))
            self._sent += 1
            yield frame

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end.

        Raises:
            ServiceFailure: an answer out of order, a frame about no chunk in flight, or an end with chunks unanswered.
        """
        if frame is None:
            self.open = False
            if self._chunks:
                raise malformed(f"the service ended the stream with {len(self._chunks)} chunks unanswered")
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
            message = getattr(frame, kind)
            self._in_flight(message.sequence).early(message)

    def outcomes(self) -> Iterator[A | ChunkError]:
        """Yield the batches that are complete, in the caller's order.

        Raises:
            DemurError: of the first batch that failed, where failures are to be raised.
        """
        while self._batches and not self._batches[0].waiting:
            batch = self._batches.popleft()
            if batch.error is None:
                yield self._source.join(batch.parts)
            elif self._raises:
                batch.error.add_note(f"in batch {batch.position} of the stream")
                raise batch.error
            else:
                yield ChunkError(batch.position, batch.error)

    def _answered(self, sequence: int) -> _Sent[A]:
        expected = self._sent - len(self._chunks)
        if not self._chunks or sequence != expected:
            raise malformed(f"an answer to chunk {sequence} instead of {expected}")
        sent = self._chunks.popleft()
        sent.batch.waiting -= 1
        return sent

    def _in_flight(self, sequence: int) -> _Sent[A]:
        place = sequence - (self._sent - len(self._chunks))
        if not 0 <= place < len(self._chunks):
            raise malformed(f"a frame about chunk {sequence}, which is not on its way")
        return self._chunks[place]

    def _fail(self, batch: _Batch[A], error: DemurError) -> None:
        batch.error = batch.error or error
        self._failed = True
        self._source.failed(error)
