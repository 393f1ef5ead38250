"""Bounds of a call before its handler runs: size of its metadata, time until its request message.

The library bounds metadata only once its peer has acknowledged the settings of the connection, and waits for the
message of a call for as long as the connection lasts.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc

from services.runtime.errors import DeadlineExceeded, DemurError, InvalidInput, TooLarge
from services.transport.grpc.status import abort

_ENTRY_BYTES = 32
"""Overhead of an entry beside its name and value (RFC 9113, section 6.5.2)."""
_SWEEP_SECONDS = 1.0
_MISSING = InvalidInput(
    "the call ended without its message; send one message, or use a method that streams", code="not_a_message"
)


class Arrival:
    """Calls whose request message has not arrived yet; one instance a server, used on its event loop only."""

    def __init__(self, message_seconds: float, most_metadata_bytes: int) -> None:
        """
        Args:
            message_seconds: limit of the time from the metadata of a call to its message; later, the call is refused.
            most_metadata_bytes: limit of the metadata of a call; a call with more is refused.
        """
        self._seconds = message_seconds
        self._most_bytes = most_metadata_bytes
        self._waiting: dict[asyncio.Task[Any], float] = {}
        """Deadline of each call's task, in the time of the loop."""
        self._late: set[asyncio.Task[Any]] = set()
        """Tasks that were cancelled because they passed it."""
        self._timer: asyncio.TimerHandle | None = None

    def bounded(self, handler: Any) -> Any:
        """Return a handler that awaits the one message of a call itself, and refuses a call without one.

        The library calls it as the handler of a stream of requests, which has its context before the first message;
        ``unary_unary`` and ``unary_stream`` stay as they are, to show the kind of the method. Handlers of streams of
        requests are returned unchanged: streams may be silent.
        """
        if handler.request_streaming:
            return handler
        if not handler.response_streaming:
            return handler._replace(request_streaming=True, stream_unary=self._reading(handler.unary_unary))
        inner = handler.unary_stream
        reading = self._generating(inner) if inspect.isasyncgenfunction(inner) else self._reading(inner)
        return handler._replace(request_streaming=True, stream_stream=reading)

    def admit(self, metadata: Any, handler: Any) -> Any:
        """Return the handler of a new call: the given one, or one that refuses it. Runs in the task of the call.

        Args:
            metadata: name and value pairs of the call.
            handler: as ``bounded`` returns it.
        """
        size = sum(len(name) + len(value) + _ENTRY_BYTES for name, value in metadata or ())
        return handler if size <= self._most_bytes else refusing(_too_large(size, self._most_bytes))

    def _reading(self, inner: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
        async def call(requests: Any, context: Any) -> Any:
            return await inner(await self._message(context), context)

        return call

    def _generating(self, inner: Callable[[Any, Any], AsyncIterator[Any]]) -> Callable[[Any, Any], AsyncIterator[Any]]:
        async def call(requests: Any, context: Any) -> AsyncIterator[Any]:
            async for response in inner(await self._message(context), context):
                yield response

        return call

    async def _message(self, context: Any) -> Any:
        """Return the one message of a call; refuse the call if there is none, or not in time."""
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        self._waiting[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(self._pause, self._sweep)
        try:
            message = await context.read()
        except asyncio.CancelledError:
            if task not in self._late:  # the caller disconnected, or the server stops
                raise
            task.uncancel()
            await abort(context, _late(self._seconds))
        finally:
            self._waiting.pop(task, None)
            self._late.discard(task)
        if message is grpc.aio.EOF:
            await abort(context, _MISSING)
        return message

    @property
    def _pause(self) -> float:
        return min(_SWEEP_SECONDS, self._seconds)

    def _sweep(self) -> None:
        """Cancel late calls; run again as long as any call waits."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for task, end in list(self._waiting.items()):
            if end <= now:
                del self._waiting[task]
                self._late.add(task)
                task.cancel()
        self._timer = loop.call_later(self._pause, self._sweep) if self._waiting else None


class Bounded(grpc.GenericRpcHandler):
    """Handlers of a service without a gate, such as health, within the same bounds."""

    def __init__(self, handlers: grpc.GenericRpcHandler, arrival: Arrival) -> None:
        self._handlers = handlers
        self._arrival = arrival
        self._bounded: dict[str, Any] = {}
        """Handlers by method, once it was called."""

    def service(self, handler_call_details: Any) -> Any:
        """Return the handler of a new call; None if the method is not of this service."""
        method = handler_call_details.method
        handler = self._bounded.get(method)
        if handler is None:
            handler = self._handlers.service(handler_call_details)
            if handler is None:
                return None
            handler = self._bounded[method] = self._arrival.bounded(handler)
        return self._arrival.admit(handler_call_details.invocation_metadata, handler)


def refusing(error: DemurError) -> Any:
    """Return a handler that refuses a call of any kind at once, without waiting for its message."""

    async def refuse(requests: Any, context: Any) -> None:
        await abort(context, error)

    return grpc.stream_stream_rpc_method_handler(refuse)


def _late(seconds: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"the message of this call did not arrive within {seconds:g} s of its metadata (DEMUR_MESSAGE_SECONDS)",
        code="deadline_exceeded",
    )


def _too_large(size: int, most: int) -> TooLarge:
    return TooLarge(
        f"the metadata of this call have {size} bytes; at most {most} are allowed (DEMUR_MAX_HEADER_BYTES); send less",
        code="header_too_large",
        field="metadata",
        value=str(size),
        unit="bytes",
        allowed=f"[0, {most}]",
    )
