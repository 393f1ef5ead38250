"""Layer around every gRPC handler: access, limits, traces, errors and metrics.

In this order: access (tokens, scopes, rates), drain, size of the metadata, the request message (within a time), trace,
decompression, handler, errors, metrics. A handler is a coroutine of ``(request, context)``; streams write their answers
with ``context.write``. A handler raises errors; the layer turns them into a status with a typed detail.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import grpc

from services.access.authenticator import Authenticator
from services.access.caller import CALLER, Caller
from services.access.rules import GrpcRules
from services.request.metrics import Metrics
from services.runtime.errors import (
    DemurError,
    MethodNotAllowed,
    draining,
    internal,
    status,
)
from services.runtime.logging import called
from services.runtime.offload import Offload
from services.tracing.trace import Trace, Value
from services.tracing.tracer import OFF, Tracer
from services.transport.grpc.limits import Limits, MessageDeadlines
from services.transport.grpc.raw_request import Compressed, Opened, Received, decoder
from services.transport.grpc.status import abort

_TOKEN_CHECK_SECONDS = 0.5
"""Interval of checks whether the token of an open stream is still valid, in seconds."""
_CODES: dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}
_arrived: ContextVar[float | None] = ContextVar("arrived", default=None)
"""Time at which the bytes of the current call's message were complete, on the monotonic clock."""


Handler = Callable[[Any, Any], Awaitable[Any]]
"""Coroutine of a request, or an iterator of requests, and the context of the call."""


@dataclass(frozen=True)
class Method:
    """Method of a service: its handler and codecs."""

    handle: Handler
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes] | None = None
    """Encoder of responses; None: the handler returns bytes."""
    streams_requests: bool = False
    streams_responses: bool = False
    counted_as: str | None = "grpc"
    """Name of the transport in metrics; None: calls are not counted."""
    as_sdk_0_1: Callable[[Any], Any] | None = None
    """Function that changes a message of SDK 0.1 to one that is answered as that version expects; None: unchanged."""
    sized: bool = False
    """True if a handler of single requests gets ``Received``, the message with its size. A stream's handler always gets
    an iterator of ``Received``.
    """


class CallLayer:
    """Wrapper of a server's handlers; one instance per server, used on its event loop only."""

    def __init__(
        self,
        limits: Limits,
        offload: Offload,
        metrics: Metrics,
        *,
        tracer: Tracer = OFF,
        authenticator: Authenticator | None = None,
        rules: GrpcRules | None = None,
    ) -> None:
        """Initialise an open layer.

        Args:
            authenticator: checks tokens; None: calls need no token.
            rules: the scope that each method needs; required with ``authenticator``.
        """
        self._limits, self._offload, self._metrics, self._tracer = limits, offload, metrics, tracer
        self._authenticator, self._rules = authenticator, rules
        self._messages = MessageDeadlines(limits.message_seconds)
        self.methods: set[str] = set()
        """Methods of all services except those of libraries, as ``/package.Service/Method``."""
        self._open = True

    def shut(self) -> None:
        """Refuse new calls of ``service`` from now on; calls in flight go on."""
        self._open = False

    def service(self, name: str, methods: Mapping[str, Method], *, traced: bool = True) -> grpc.GenericRpcHandler:
        """Return the handlers of a service.

        Args:
            name: full name, e.g. ``demur.v1.VesselService``.
            traced: whether calls are traced and logged, and refused while the server drains; False for probes.
        """
        wrapped = {
            f"/{name}/{method}": self._wrapped(f"{name}/{method}", described, traced)
            for method, described in methods.items()
        }
        self.methods |= set(wrapped)
        of_sdk_0_1 = {
            f"/{name}/{method}": self._wrapped(f"{name}/{method}", _as_sdk_0_1(described), traced)
            for method, described in methods.items()
            if described.as_sdk_0_1 is not None
        }

        def find(details: Any) -> Any:
            handler = wrapped.get(details.method)
            if details.method in of_sdk_0_1 and _is_sdk_0_1(details.invocation_metadata):
                handler = of_sdk_0_1[details.method]
            return self._entered(details, handler, traced)

        return _Service(find)

    def foreign(self, handlers: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """Return the handlers of a library, such as health, within the same access rules and limits; not traced."""
        wrapped: dict[str, Any] = {}

        def find(details: Any) -> Any:
            handler = wrapped.get(details.method)
            if handler is None and (handler := handlers.service(details)) is not None:
                handler = wrapped[details.method] = self._bounded(handler)
            return self._entered(details, handler, traced=False)

        return _Service(find)

    def unknown(self) -> grpc.GenericRpcHandler:
        """Return the last handler of a server that checks tokens: it refuses unknown methods."""
        return _Service(lambda details: self._entered(details, refusing(_no_method(details.method)), traced=False))

    # before the handler

    def _entered(self, details: Any, handler: Any, traced: bool) -> Any:
        """Return the handler of a new call, or a handler that refuses it. Runs in the task of the call."""
        if handler is None:
            return None
        metadata = details.invocation_metadata
        caller = None
        if self._authenticator is not None:
            start = time.perf_counter()
            try:
                caller = self._admitted(self._authenticator, details.method, metadata)
            except DemurError as error:
                self._metrics.request("grpc", status(error).grpc, time.perf_counter() - start)
                return refusing(error)
        if traced and not self._open:
            return refusing(draining())
        if (excess := self._limits.excess(metadata)) is not None:
            return refusing(excess)
        if caller is None or self._authenticator is None or handler.unary_unary is not None:
            return handler
        return _while_valid(handler, self._authenticator, caller)

    def _admitted(self, authenticator: Authenticator, method: str, metadata: Any) -> Caller | None:
        assert self._rules is not None
        rule = self._rules.find(method)
        caller = authenticator.admit(_credentials(metadata), rule)
        if rule is None:
            raise _no_method(method)
        CALLER.set(caller)
        return caller

    # around the handler

    def _wrapped(self, name: str, method: Method, traced: bool) -> Any:
        """Return the handler of a method of this program.

        All are served as handlers of a stream of requests: these get their context before the first message, so that a
        call without a message can be refused in time. ``unary_unary`` stays set to show the kind of the method.
        """
        answer = self._streaming(method) if method.streams_requests else self._single(method)
        call = self._traced(name, answer) if traced else answer
        decode = decoder(method.decode)
        if traced and self._tracer.recording and not method.streams_requests:
            decode = _timed(decode)
        if not method.streams_requests:
            call = self._awaiting_message(call)
        if method.streams_responses:
            return grpc.stream_stream_rpc_method_handler(call, decode, method.encode)
        handler: Any = grpc.stream_unary_rpc_method_handler(call, decode, method.encode)
        return handler._replace(unary_unary=answer)

    def _guarded(self, handle: Handler, counted_as: str | None) -> Handler:
        """Return a handler whose errors become a status, and whose calls are counted."""
        metrics = self._metrics

        async def answer(request: Any, context: Any) -> Any:
            start, code = time.perf_counter(), "CANCELLED"
            try:
                response = await handle(request, context)
                code = "OK"
                return response
            except (asyncio.CancelledError, grpc.aio.AbortError):
                raise
            except Exception as error:
                refusal, code = error, status(internal(error)).grpc
            finally:  # before a caller can see the status, and so can read the metrics
                if counted_as is not None:
                    metrics.request(counted_as, code, time.perf_counter() - start)
            await abort(context, refusal)

        return answer

    def _single(self, method: Method) -> Handler:
        handle = method.handle

        async def checked(request: Received, context: Any) -> Any:
            return await handle(request.checked(), context)

        guarded = self._guarded(handle if method.sized else checked, method.counted_as)
        limit, offload = self._limits.message_bytes, self._offload

        async def answer(request: Any, context: Any) -> Any:
            if type(request) is Compressed:
                request = await request.opened(limit, offload)
            return await guarded(request, context)

        return answer

    def _streaming(self, method: Method) -> Handler:
        guarded = self._guarded(method.handle, method.counted_as)
        limit, offload = self._limits.message_bytes, self._offload

        async def answer(requests: Any, context: Any) -> Any:
            return await guarded(Opened(aiter(requests), limit, offload), context)

        return answer

    def _traced(self, name: str, answer: Handler) -> Handler:
        attributes: dict[str, Value] = {"rpc.system.name": "grpc", "rpc.method": name}
        tracer = self._tracer

        async def call(request: Any, context: Any) -> Any:
            trace = tracer.begin(name, lambda: context.invocation_metadata() or (), attributes, start=_arrived.get())
            with _Logged(trace, name, context):
                return await answer(request, context)

        return call

    def _awaiting_message(self, call: Handler) -> Handler:
        messages = self._messages

        async def awaiting(requests: Any, context: Any) -> Any:
            return await call(await messages.first(context), context)

        return awaiting

    def _bounded(self, handler: Any) -> Any:
        """Return a library's handler that waits for its one message within the limit; streams are unchanged."""
        if handler.request_streaming:
            return handler
        call = self._awaiting_message(handler.unary_stream if handler.response_streaming else handler.unary_unary)
        if handler.response_streaming:
            return handler._replace(request_streaming=True, stream_stream=call)
        return handler._replace(request_streaming=True, stream_unary=call)


class _Service(grpc.GenericRpcHandler):
    """Service whose handlers are found by a function."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self._find = find

    def service(self, handler_call_details: Any) -> Any:
        return self._find(handler_call_details)


class _Logged:
    """Context manager for the current trace and the log line of a call, from its message to its status."""

    __slots__ = ("_context", "_name", "_start", "_trace")

    def __init__(self, trace: Trace, name: str, context: Any) -> None:
        self._trace, self._name, self._context = trace, name, context
        self._start = time.perf_counter()

    def __enter__(self) -> None:
        self._trace.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = _status(self._context, error)
        self._trace.note("rpc.response.status_code", code)
        called("grpc", self._name, code, time.perf_counter() - self._start)
        reported = isinstance(error, grpc.aio.AbortError)  # ``abort`` has already reported its error to the trace
        self._trace.__exit__(*(None, None, None) if reported else (kind, error, trace))


def _status(context: Any, error: BaseException | None) -> str:
    if error is None or isinstance(error, grpc.aio.AbortError):
        code = context.code()
        return _CODES.get(code, "OK") if isinstance(code, int) else getattr(code, "name", "OK")
    return "UNKNOWN" if isinstance(error, Exception) else "CANCELLED"


def _as_sdk_0_1(method: Method) -> Method:
    """Return a method for calls of SDK 0.1, whose messages are changed as soon as they are decoded."""
    decode, change = method.decode, method.as_sdk_0_1
    assert change is not None
    return replace(method, decode=lambda data: change(decode(data)))


def _is_sdk_0_1(metadata: Any) -> bool:
    """Return whether a call is of SDK 0.1, whose messages do not have its version."""
    for name, value in metadata or ():
        if name == "user-agent":
            return bool(value.startswith("demur-python/0.1."))
    return False


def _timed(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Record when the bytes arrived; the library decodes them in the task that answers the call, right before it."""

    def timed(data: bytes) -> Any:
        _arrived.set(time.monotonic())
        return decode(data)

    return timed


def _while_valid(handler: Any, authenticator: Authenticator, caller: Caller) -> Any:
    """Return a stream that ends with a status within a second after its token expires.

    Streams of the library that are generators (reflection) end at once anyway and are unchanged.
    """
    inner = handler.stream_stream
    if not asyncio.iscoroutinefunction(inner):
        return handler

    async def call(requests: Any, context: Any) -> None:
        work = asyncio.ensure_future(inner(requests, context))
        try:
            while not (await asyncio.wait([work], timeout=_TOKEN_CHECK_SECONDS))[0]:
                if not authenticator.still_valid(caller):
                    break
        finally:
            ended = not work.done()
            if ended:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
        if ended:
            await abort(context, authenticator.stream_ended())
        await work  # re-raises its error

    return grpc.stream_stream_rpc_method_handler(call, handler.request_deserializer, handler.response_serializer)


def refusing(error: DemurError) -> Any:
    """Return a handler that refuses a call of any kind at once, without waiting for its message."""

    async def refuse(requests: Any, context: Any) -> None:
        await abort(context, error)

    return grpc.stream_stream_rpc_method_handler(refuse)


def _credentials(metadata: Any) -> list[str]:
    return [
        value if isinstance(value, str) else value.decode("latin-1")
        for name, value in metadata or ()
        if name == "authorization"
    ]


def _no_method(method: str) -> MethodNotAllowed:
    return MethodNotAllowed(f"there is no method {method[:200]} here", code="no_route")
