"""Streams of chunks: any length in bounded memory, answered in order.

The service reads ahead by a few chunks only; HTTP/2 flow control holds the caller back. Items and progress of the
current chunk are sent at once; those of later chunks wait for their turn, with only the latest progress. A chunk that
fails is answered by an item error, and the stream goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

from services.request.contract import Call, Progress, Units
from services.runtime.errors import Busy, DemurError, internal
from services.runtime.logging import get_logger
from services.runtime.settings import Settings
from services.tracing.trace import current, step
from services.transport.binding import Begin, Chunk, Options, StreamFrames
from services.transport.grpc.plain import plain
from services.transport.grpc.raw_request import Received
from services.transport.served_model import ServedModel

_log = get_logger(__name__)


class ChunkStream:
    """Handler of ``PredictStream``."""

    def __init__(self, frames: StreamFrames, tenant: ServedModel, settings: Settings) -> None:
        self._frames = frames
        self._pipeline = tenant.pipeline
        self._window = settings.stream_window_chunks

    async def handle(self, requests: AsyncIterator[Any], context: Any) -> None:
        """Handle a stream. This is a method, since grpc.aio runs callable objects in a thread."""
        pending: asyncio.Queue[_Outbox | None] = asyncio.Queue(self._window)
        running: set[asyncio.Task[None]] = set()
        reader = asyncio.create_task(self._read(requests, context, pending, running))
        chunks = units = 0
        try:
            if (accepted := self._frames.accepted()) is not None:
                await context.write(accepted)
            while (outbox := await pending.get()) is not None:
                async for frame, count in outbox:
                    units += count
                    await context.write(frame)
                chunks += 1
            await reader
            if (ended := self._frames.ended(chunks, units)) is not None:
                await context.write(ended)
        finally:
            reader.cancel()
            for task in running:
                task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await reader

    async def _read(
        self,
        requests: AsyncIterator[Received],
        context: Any,
        pending: asyncio.Queue[_Outbox | None],
        running: set[asyncio.Task[None]],
    ) -> None:
        """Turn frames into running chunks; end the queue with None, even on a broken stream."""
        begin = Begin(Options())
        reader = self._frames.reader()
        try:
            async for frame in requests:
                word = reader.read(frame.checked())
                if word is None:
                    continue
                if isinstance(word, Begin):
                    begin = word
                    continue
                remaining = sooner(context.time_remaining(), word.seconds)
                deadline = None if remaining is None else time.monotonic() + remaining
                frames = self._frames
                priority = frames.priority if word.priority is None else word.priority
                options = word.options or begin.options
                call = options.call(frames.purpose, priority=priority, deadline=deadline)
                nbytes = frame.text_bytes if word.nbytes is None else word.nbytes
                outbox = _Outbox(options.plain)
                task = asyncio.create_task(self._work(word, call, nbytes, outbox))
                running.add(task)
                task.add_done_callback(running.discard)
                await pending.put(outbox)
        except Exception:
            await pending.put(None)
            raise
        await pending.put(None)

    async def _work(self, chunk: Chunk, call: Call, nbytes: int, outbox: _Outbox) -> None:
        """Process a chunk; put all frames into its outbox, with the final frame last."""
        with current().part("chunk", {"demur.chunk": chunk.sequence}):
            await self._worked_off(chunk, call, nbytes, outbox)

    async def _worked_off(self, chunk: Chunk, call: Call, nbytes: int, outbox: _Outbox) -> None:
        try:
            if isinstance(chunk.request, DemurError):
                raise chunk.request
            units = await self._pipeline.expand(chunk.request, call, nbytes)
            answers, was_shown = await self._follow(chunk.sequence, units, call, outbox)
            results = self._frames.results(chunk.sequence, answers, was_shown)
            formed_frames = ((outbox.formed(frame), count) for frame, count in results)
            with step("encode"):
                while (frame := await self._pipeline.offload.run(nbytes, next, formed_frames, None)) is not None:
                    outbox.put(*frame)
                    await asyncio.sleep(0)  # there may be a hundred frames of a megabyte each
        except Exception as failure:
            error = internal(failure)
            current().failed(error)
            if error is not failure:
                _log.error("a chunk failed by a defect", exc_info=failure)
            outbox.put(self._frames.failed(chunk.sequence, error), 0)
        finally:
            outbox.end()

    async def _follow(self, sequence: Any, units: Units[Any], call: Call, outbox: _Outbox) -> tuple[list[Any], int]:
        """Return all answers, and the number of units sent before the chunk's end; a full queue delays a stream, but
        does not fail it.
        """
        frames = self._frames
        answers: list[Any] = []
        units_told = 0
        while True:
            try:
                async with aclosing(self._pipeline.events(units, call)) as events:
                    async for event in events:
                        if isinstance(event, Progress):
                            if (progress := frames.progress(sequence, event)) is not None:
                                outbox.tell(progress)
                            continue
                        answers.append(event)
                        if (item := frames.item(sequence, event)) is not None:
                            outbox.put(outbox.formed(item[0]), item[1])
                            units_told += item[1]
                return answers, units_told
            except Busy as busy:  # raised before the first event
                await asyncio.sleep(busy.retry_after_seconds)


def sooner(one: float | None, other: float | None) -> float | None:
    """Return the shorter of two times; None is unlimited."""
    known = [seconds for seconds in (one, other) if seconds is not None]
    return min(known, default=None)


class _Outbox:
    """Queue of the frames of a chunk, each with the units it decides."""

    def __init__(self, in_plain: bool = False) -> None:
        """Start empty; ``in_plain`` sends numbers as repeated fields."""
        self._in_plain = in_plain
        self._frames: deque[tuple[Any, int]] = deque()
        self._passing = False
        """True if the last frame is of progress, so that a newer one replaces it."""
        self._ended = False
        self._wake = asyncio.Event()

    def formed(self, frame: Any) -> Any:
        """Return a frame in the requested format; may be called in a thread."""
        return plain(frame) if self._in_plain else frame

    def put(self, frame: Any, units: int) -> None:
        self._frames.append((frame, units))
        self._passing = False
        self._wake.set()

    def tell(self, frame: Any) -> None:
        """Add a progress frame; it replaces an earlier one that was not sent yet."""
        if self._passing and self._frames:
            self._frames.pop()
        self._frames.append((frame, 0))
        self._passing = True
        self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    def __aiter__(self) -> _Outbox:
        return self

    async def __anext__(self) -> tuple[Any, int]:
        while not self._frames:
            if self._ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._frames.popleft()
