"""Questions about rows and their answers, on the running event loop, whatever the task."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from typing import Any, Generic, Literal, TypeVar, overload

from demur._calls import AsyncCalls
from demur._commit import Committed, Identified, commit_request, committed
from demur._describe import Description, description
from demur._errors import InvalidInput
from demur._exchange import STALE_SCHEMA, ChunkError, Exchange, OnError
from demur._label import Ids
from demur._question import A, DeferAbove, Manner, Purpose, RowMessages, predict_request
from demur._retry import Deadline
from demur._rows import Layout, Rows, pack
from demur.v1.common_pb2 import DescribeRequest
from demur.v1.labels_pb2_grpc import LabelServiceStub

T = TypeVar("T")


class AsyncRowService(Generic[A]):
    """As :class:`RowService`, on the running event loop; for any number of its tasks."""

    def __init__(self, calls: AsyncCalls, messages: RowMessages[A]) -> None:
        self._calls = calls
        self._messages = messages
        self._stub: Any = messages.stub(calls.channel)
        self._labels: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]
        self._known: Layout | None = None

    async def describe(self, *, timeout: float | None = None) -> Description:
        """As :meth:`RowService.describe`."""
        return await self._describe(self._calls.deadline(timeout))

    async def predict(
        self,
        rows: Rows,
        *,
        purpose: Purpose = "decide",
        timeout: float | None = None,
        defer_above: DeferAbove = None,
        members: bool = False,
    ) -> A:
        """As :meth:`RowService.predict`."""
        deadline = self._calls.deadline(timeout)
        manner = Manner(purpose, defer_above, members)
        layout = await self._layout(deadline)
        request = predict_request(self._messages, pack(rows, layout), layout, manner)
        try:
            response = await self._calls.unary(self._stub.Predict, request, deadline)
        except InvalidInput as error:
            if error.code == STALE_SCHEMA:
                self._known = None
            raise
        return self._messages.decode(response, layout.heads)

    async def commit(self, units: Identified | Ids, *, timeout: float | None = None) -> Committed:
        """As :meth:`RowService.commit`."""
        deadline = self._calls.deadline(timeout)
        return committed(await self._calls.unary(self._labels.Commit, commit_request(units), deadline))

    @overload
    def stream(
        self,
        batches: Iterable[Rows] | AsyncIterable[Rows],
        *,
        purpose: Purpose = ...,
        timeout: float | None = ...,
        defer_above: DeferAbove = ...,
        members: bool = ...,
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
        chunk_rows: int | None = None,
        window: int | None = None,
        on_error: OnError = "raise",
    ) -> AsyncGenerator[A, None] | AsyncGenerator[A | ChunkError, None]:
        """As :meth:`RowService.stream`; batches may come from an asynchronous iterable.

        Leaving the loop early cancels when the generator is closed: at once inside
        ``contextlib.aclosing(...)``, else when the event loop collects it.
        """
        manner = Manner(purpose, defer_above, members)
        options = {"chunk_rows": chunk_rows, "window": window, "on_error": on_error}
        return self._stream(batches, manner, Deadline(timeout), options)

    async def _stream(
        self,
        batches: Iterable[Rows] | AsyncIterable[Rows],
        manner: Manner,
        deadline: Deadline,
        options: dict[str, Any],
    ) -> AsyncGenerator[Any, None]:
        exchange = Exchange(self._messages, await self._layout(deadline), manner, **options)
        stream, first = await self._calls.stream(self._stub.PredictStream, exchange.begin, deadline)
        try:
            exchange.accept(first)
            async with aclosing(each(batches)) as source:
                async for rows in source:
                    for frame in exchange.offer(rows):
                        stream.send(frame)
                        while exchange.full:
                            exchange.receive(await stream.receive())
                            for outcome in exchange.outcomes():
                                yield outcome
                    for outcome in exchange.outcomes():
                        yield outcome
                    if exchange.finishing:
                        break
            stream.end()
            while exchange.open:
                exchange.receive(await stream.receive())
                for outcome in exchange.outcomes():
                    yield outcome
        finally:
            stream.close()
            if exchange.stale:
                self._known = None

    async def _layout(self, deadline: Deadline) -> Layout:
        known = self._known
        return Layout.of(await self._describe(deadline)) if known is None else known

    async def _describe(self, deadline: Deadline) -> Description:
        described = description(await self._calls.unary(self._stub.Describe, DescribeRequest(), deadline))
        self._known = Layout.of(described)
        return described


async def each(items: Iterable[T] | AsyncIterable[T]) -> AsyncGenerator[T, None]:
    """The items of an iterable of either kind."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
