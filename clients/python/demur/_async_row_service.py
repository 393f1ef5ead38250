"""Questions about rows and their answers, on the running event loop, whatever the task."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from typing import Any, Generic, Literal, overload

from demur._calls import AsyncCalls
from demur._describe import Description
from demur._errors import InvalidInput
from demur._exchange import A, ChunkError, Exchange, OnError
from demur._question import DeferAbove, Manner, Purpose, RowMessages, predict_request
from demur._retry import Deadline
from demur._row_chunks import STALE_SCHEMA, RowChunks
from demur._rows import Layout, Rows, Units, pack
from demur._service import AsyncService, each


class AsyncRowService(AsyncService, Generic[A]):
    """As :class:`RowService`, on the running event loop; for any number of its tasks."""

    def __init__(self, calls: AsyncCalls, messages: RowMessages[A]) -> None:
        super().__init__(calls, messages.stub)
        self._messages = messages
        self._known: Layout | None = None

    async def predict(
        self,
        rows: Rows,
        *,
        purpose: Purpose = "decide",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        members: bool = False,
        units: Units = None,
    ) -> A:
        """As :meth:`RowService.predict`."""
        deadline = self._calls.deadline(timeout)
        manner = Manner(purpose, defer_above, members)
        layout = await self._layout(deadline)
        request = predict_request(self._messages, pack(rows, layout, units), layout, manner)
        try:
            response = await self._calls.unary(self._stub.Predict, request, deadline)
        except InvalidInput as error:
            if error.code == STALE_SCHEMA:
                self._known = None
            raise
        return self._messages.decode(response, layout.heads)

    @overload
    def stream(
        self,
        batches: Iterable[Rows] | AsyncIterable[Rows],
        *,
        purpose: Purpose = ...,
        timeout: float | None = ...,
        defer_above: DeferAbove = ...,
        members: bool = ...,
        units: Units = ...,
        chunk_rows: int | None = ...,
        window: int | None = ...,
        on_error: Literal["raise"] = ...,
    ) -> AsyncGenerator[A, None]: ...
    @overload
    def stream(
        self,
        batches: Iterable[Rows] | AsyncIterable[Rows],
        *,
        purpose: Purpose = ...,
        timeout: float | None = ...,
        defer_above: DeferAbove = ...,
        members: bool = ...,
        units: Units = ...,
        chunk_rows: int | None = ...,
        window: int | None = ...,
        on_error: OnError,
    ) -> AsyncGenerator[A | ChunkError, None]: ...
    def stream(
        self,
        batches: Iterable[Rows] | AsyncIterable[Rows],
        *,
        purpose: Purpose = "explore",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        members: bool = False,
        units: Units = None,
        chunk_rows: int | None = None,
        window: int | None = None,
        on_error: OnError = "raise",
    ) -> AsyncGenerator[A, None] | AsyncGenerator[A | ChunkError, None]:
        """As :meth:`RowService.stream`; batches may come from an asynchronous iterable.

        Leaving the loop early cancels when the generator is closed: at once inside
        ``contextlib.aclosing(...)``, else when the event loop collects it.
        """
        manner = Manner(purpose, defer_above, members)
        return self._stream(batches, manner, units, Deadline(timeout), chunk_rows, window, on_error)

    async def _stream(
        self,
        batches: Iterable[Rows] | AsyncIterable[Rows],
        manner: Manner,
        units: Units,
        deadline: Deadline,
        chunk_rows: int | None,
        window: int | None,
        on_error: OnError,
    ) -> AsyncGenerator[Any, None]:
        chunks = RowChunks(self._messages, await self._layout(deadline), manner, units, chunk_rows)
        exchange = Exchange(chunks, window=window, on_error=on_error)
        try:
            async with aclosing(self._converse(exchange, each(batches), deadline)) as outcomes:
                async for outcome in outcomes:
                    yield outcome
        finally:
            if chunks.stale:
                self._known = None

    async def _layout(self, deadline: Deadline) -> Layout:
        known = self._known
        return Layout.of(await self._describe(deadline)) if known is None else known

    async def _describe(self, deadline: Deadline) -> Description:
        described = await super()._describe(deadline)
        self._known = Layout.of(described)
        return described
