"""Streams of chunks: any length in bounded memory, answered in their order.

The service reads ahead by a few chunks only; HTTP/2 flow control holds the caller back. A chunk that
fails is answered by an item error and the stream goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from services.errors import Busy, DemurError, internal, status
from services.logging import get_logger
from services.metrics import Metrics
from services.pipeline import Call
from services.settings import Settings
from services.tenant import Tenant
from services.transport.binding import Begin, Chunk, Options
from services.transport.grpc.status import abort
from services.work import Priority

_log = get_logger(__name__)


class ChunkStream:
    """Serves ``PredictStream``."""

    def __init__(self, tenant: Tenant, settings: Settings, metrics: Metrics) -> None:
        assert tenant.grpc.stream is not None
        self._frames = tenant.grpc.stream
        self._pipeline = tenant.pipeline
        self._window = settings.stream_window_chunks
        self._metrics = metrics

    async def handle(self, requests: AsyncIterator[Any], context: Any) -> None:
        """Called once per stream. A method, since grpc.aio runs callable objects in a thread."""
        start = time.perf_counter()
        pending: asyncio.Queue[asyncio.Task[Any] | None] = asyncio.Queue(self._window)
        reader = asyncio.create_task(self._read(requests, context, pending))
        chunks = units = 0
        code = "CANCELLED"
        try:
            await context.write(self._frames.accepted())
            while (task := await pending.get()) is not None:
                frame, count = await task
                chunks += 1
                units += count
                await context.write(frame)
            await reader
            await context.write(self._frames.progress(chunks, units))
            code = "OK"
        except Exception as error:
            code = status(internal(error)).grpc
            await abort(context, error)
        finally:
            reader.cancel()
            while not pending.empty():
                if (left := pending.get_nowait()) is not None:
                    left.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await reader
            self._metrics.request("grpc_stream", code, time.perf_counter() - start)

    async def _read(self, requests: AsyncIterator[Any], context: Any, pending: asyncio.Queue[Any]) -> None:
        """Turns frames into running chunks; ends the queue with None, also on a broken stream."""
        begin: Begin | None = None
        running: set[asyncio.Task[Any]] = set()
        try:
            async for frame in requests:
                if isinstance(frame, DemurError):
                    raise frame
                word = self._frames.read(frame, begin)
                if isinstance(word, Begin):
                    begin = word
                    continue
                begin = begin or Begin(Options())
                remaining = context.time_remaining()
                deadline = None if remaining is None else time.monotonic() + remaining
                call = begin.options.call("explore", priority=Priority.BULK, deadline=deadline)
                task = asyncio.create_task(self._chunk(word, call))
                running.add(task)
                task.add_done_callback(running.discard)
                await pending.put(task)
        except asyncio.CancelledError:
            for task in running:
                task.cancel()
            raise
        except Exception:
            await pending.put(None)
            raise
        await pending.put(None)

    async def _chunk(self, chunk: Chunk, call: Call) -> tuple[Any, int]:
        """The answering frame of one chunk, and its units."""
        try:
            answers = await self._answer(chunk, call)
            return self._frames.result(chunk.sequence, answers)
        except Exception as failure:
            error = internal(failure)
            if error is not failure:
                _log.error("a chunk failed by a defect", exc_info=failure)
            return self._frames.failed(chunk.sequence, error), 0

    async def _answer(self, chunk: Chunk, call: Call) -> list[Any]:
        """A full queue holds a stream back instead of breaking it."""
        if isinstance(chunk.request, DemurError):
            raise chunk.request
        while True:
            try:
                return await self._pipeline.answer(chunk.request, call)
            except Busy as busy:
                await asyncio.sleep(busy.retry_after_seconds)
