"""Streams of chunks: any length in bounded memory, answered in their order.

The service reads ahead by a few chunks only; HTTP/2 flow control holds the caller back. A chunk that
fails is answered by an item error and the stream goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from services.errors import Busy, DemurError, InvalidInput, status
from services.metrics import Metrics
from services.pipeline import Call
from services.settings import Settings
from services.tenant import Tenant
from services.transport.binding import Begin, Chunk, Options
from services.transport.grpc.status import abort, internal
from services.work import Priority


class ChunkStream:
    """The handler of ``PredictStream``: called once per stream."""

    def __init__(self, tenant: Tenant, settings: Settings, metrics: Metrics) -> None:
        assert tenant.grpc.stream is not None
        self._frames = tenant.grpc.stream
        self._pipeline = tenant.pipeline
        self._window = settings.stream_window_chunks
        self._metrics = metrics

    async def __call__(self, requests: AsyncIterator[Any], context: Any) -> None:
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
        except DemurError as error:
            code = status(error).grpc
            await abort(context, error)
        finally:
            reader.cancel()
            while not pending.empty():
                if (left := pending.get_nowait()) is not None:
                    left.cancel()
            self._metrics.request("grpc_stream", code, time.perf_counter() - start)

    async def _read(self, requests: AsyncIterator[Any], context: Any, pending: asyncio.Queue[Any]) -> None:
        """Turns frames into running chunks; ends the queue with None, also on a broken stream."""
        begin: Begin | None = None
        running: set[asyncio.Task[Any]] = set()
        try:
            async for frame in requests:
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
        except DemurError as error:
            return self._frames.failed(chunk.sequence, error), 0
        except Exception as error:
            return self._frames.failed(chunk.sequence, internal(error)), 0

    async def _answer(self, chunk: Chunk, call: Call) -> list[Any]:
        """A full queue holds a stream back instead of breaking it."""
        if isinstance(chunk.request, InvalidInput):
            raise chunk.request
        while True:
            try:
                return await self._pipeline.answer(chunk.request, call)
            except Busy as busy:
                await asyncio.sleep(busy.retry_after_seconds)
