"""One stream from the caller's side, without input or output.

The synchronous and the asynchronous client move frames; what may be sent, which batch a frame belongs to
and when a batch is complete is decided here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias

from demur._errors import DemurError, InvalidInput, ServiceFailure, from_detail, wrong_argument
from demur._question import A, Manner, RowMessages, stream_begin, stream_chunk
from demur._rows import Layout, Rows, pack

CHUNK_BYTES = 16 * 2**20 - 2**12
"""Packed rows of one chunk: the contract's 16 MB message, less room for what stands around them."""

STALE_SCHEMA = "schema_mismatch"
"""Word of the error with which a service refuses rows packed for another schema than its own."""

OnError: TypeAlias = Literal["raise", "yield"]


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


class Exchange(Generic[A]):
    """State of one stream: batches in, chunk frames out; response frames in, one outcome a batch out."""

    def __init__(
        self,
        messages: RowMessages[A],
        layout: Layout,
        manner: Manner,
        *,
        chunk_rows: int | None,
        window: int | None,
        on_error: OnError,
    ) -> None:
        largest = CHUNK_BYTES // max(layout.row_bytes, 1)
        if layout.max_rows:
            largest = min(largest, layout.max_rows)
        if chunk_rows is not None and not 1 <= chunk_rows <= largest:
            raise wrong_argument("chunk_rows", chunk_rows, f"1 to {largest}")
        if window is not None and window < 1:
            raise wrong_argument("window", window, "1 or more")
        if on_error not in ("raise", "yield"):
            raise wrong_argument("on_error", on_error, "raise, yield")
        self._messages = messages
        self._layout = layout
        self._chunk_rows = chunk_rows or largest
        self._window = window
        self._raises = on_error == "raise"
        self._batches: deque[_Batch[A]] = deque()  # not yet handed over
        self._chunks: deque[tuple[_Batch[A], int]] = deque()  # in flight: batch, its first row
        self._offered = 0
        self._sent = 0
        self._failed = False
        self.open = True
        """Whether the service may still send frames."""
        self.stale = False
        """Whether the service said that its schema is not the one that was packed for."""
        self.begin = stream_begin(messages, manner)
        """The first frame to send."""

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end; the former bounds the window.

        Raises:
            ServiceFailure: it is not that frame.
        """
        if frame is None or frame.WhichOneof("frame") != "accepted":
            raise ServiceFailure("the service did not accept the stream", code="malformed")
        offered = max(frame.accepted.window_chunks, 1)
        self._window = offered if self._window is None else min(self._window, offered)

    @property
    def full(self) -> bool:
        """Whether an answer must be received before the next chunk is sent."""
        return len(self._chunks) >= (self._window or 1)

    @property
    def finishing(self) -> bool:
        """Whether a batch failed that will be raised, so that no more batches are drawn."""
        return self._failed and self._raises

    def offer(self, rows: Rows) -> Iterator[Any]:
        """The frames of the caller's next batch, to be sent one by one while not ``full``."""
        batch: _Batch[A] = _Batch(self._offered)
        self._offered += 1
        self._batches.append(batch)
        try:
            packed = pack(rows, self._layout)
        except InvalidInput as error:
            self._fail(batch, error)
            return
        starts = range(0, max(len(packed), 1), self._chunk_rows)
        batch.waiting = len(starts)
        for start in starts:
            frame = stream_chunk(self._messages, packed[start : start + self._chunk_rows], self._layout, self._sent)
            self._chunks.append((batch, start))
            self._sent += 1
            yield frame

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end.

        Raises:
            ServiceFailure: an answer out of turn, or an end with chunks unanswered.
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
            batch, _ = self._answered(frame.result.sequence)
            batch.parts.append(self._messages.decode(frame.result.answer, self._layout.heads))
        elif kind == "error":
            batch, start = self._answered(frame.error.sequence)
            error = from_detail(frame.error.error)
            if isinstance(error, InvalidInput) and error.index is not None:
                error.index += start
            self._fail(batch, error)

    def outcomes(self) -> Iterator[A | ChunkError]:
        """Hand over the batches that are complete, in the caller's order.

        Raises:
            DemurError: of the first batch that failed, where failures are to be raised.
        """
        while self._batches and not self._batches[0].waiting:
            batch = self._batches.popleft()
            if batch.error is None:
                yield self._messages.join(batch.parts)
            elif self._raises:
                batch.error.add_note(f"in batch {batch.position} of the stream")
                raise batch.error
            else:
                yield ChunkError(batch.position, batch.error)

    def _answered(self, sequence: int) -> tuple[_Batch[A], int]:
        expected = self._sent - len(self._chunks)
        if not self._chunks or sequence != expected:
            raise ServiceFailure(f"an answer to chunk {sequence} instead of {expected}", code="malformed")
        batch, start = self._chunks.popleft()
        batch.waiting -= 1
        return batch, start

    def _fail(self, batch: _Batch[A], error: DemurError) -> None:
        batch.error = batch.error or error
        self._failed = True
        self.stale = self.stale or error.code == STALE_SCHEMA
