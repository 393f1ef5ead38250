"""Handlers of gRPC methods whose calls are traced and logged, whatever service they belong to."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

import grpc

from services.runtime.logging import called
from services.tracing.context import Carrier
from services.tracing.trace import Trace, Value
from services.tracing.tracer import Tracer

_arrived: ContextVar[float | None] = ContextVar("arrived", default=None)
"""When the bytes of the call that is being answered were there, on the monotonic clock."""


def traced(method: str, found: Any, tracer: Tracer) -> Any:
    """A handler that does what another one does, and opens a trace for each call.

    Args:
        method: full name, ``package.Service/Method``.
    """
    make, behaviour = _KINDS[bool(found.request_streaming), bool(found.response_streaming)]
    handle = getattr(found, behaviour)
    wrap = _generating if inspect.isasyncgenfunction(handle) else _answering
    decode = found.request_deserializer
    if tracer.recording and decode is not None and not found.request_streaming:
        decode = _timed(decode)
    attributes: dict[str, Value] = {"rpc.system.name": "grpc", "rpc.method": method}

    def begin(context: Any) -> _Call:
        return _Call(tracer.begin(method, _metadata(context), attributes, start=_arrived.get()), method, context)

    return make(wrap(handle, begin), request_deserializer=decode, response_serializer=found.response_serializer)


_KINDS: dict[tuple[bool, bool], tuple[Callable[..., Any], str]] = {
    (False, False): (grpc.unary_unary_rpc_method_handler, "unary_unary"),
    (False, True): (grpc.unary_stream_rpc_method_handler, "unary_stream"),
    (True, False): (grpc.stream_unary_rpc_method_handler, "stream_unary"),
    (True, True): (grpc.stream_stream_rpc_method_handler, "stream_stream"),
}


class _Call:
    """One call, from its first line to its status."""

    __slots__ = ("_context", "_method", "_start", "_trace")

    def __init__(self, trace: Trace, method: str, context: Any) -> None:
        self._trace, self._method, self._context = trace, method, context
        self._start = time.perf_counter()

    def __enter__(self) -> None:
        self._trace.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        code = _status(self._context, error)
        self._trace.note("rpc.response.status_code", code)
        called("grpc", self._method, code, time.perf_counter() - self._start)
        told = isinstance(error, grpc.aio.AbortError)  # with a code, when it was aborted
        self._trace.__exit__(*(None, None, None) if told else (kind, error, trace))


def _answering(handle: Callable[[Any, Any], Any], begin: Callable[[Any], _Call]) -> Callable[[Any, Any], Any]:
    async def call(request: Any, context: Any) -> Any:
        with begin(context):
            return await handle(request, context)

    return call


def _generating(handle: Callable[[Any, Any], Any], begin: Callable[[Any], _Call]) -> Callable[[Any, Any], Any]:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        with begin(context):
            async for response in handle(request, context):
                yield response

    return call


def _timed(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Notes when bytes came; the library decodes them in the task that answers the call, right before it does."""

    def timed(data: bytes) -> Any:
        _arrived.set(time.monotonic())
        return decode(data)

    return timed


def _metadata(context: Any) -> Carrier:
    return lambda: context.invocation_metadata() or ()


def _status(context: Any, error: BaseException | None) -> str:
    if error is None or isinstance(error, grpc.aio.AbortError):
        code = context.code()
        return _CODES.get(code, "OK") if isinstance(code, int) else getattr(code, "name", "OK")
    return "UNKNOWN" if isinstance(error, Exception) else "CANCELLED"


_CODES: dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}
