"""Authentication of gRPC calls, including health and reflection, before their handler is looked up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from services.access.authenticator import Authenticator
from services.access.caller import CALLER, Caller
from services.access.rules import GrpcRules
from services.request.metrics import Metrics
from services.runtime.errors import DemurError, MethodNotAllowed, status
from services.transport.grpc.arrival import refusing
from services.transport.grpc.status import abort

_LOOK_SECONDS = 0.5
"""Between two looks at whether the token of an open stream is still held."""


class Guard(grpc.aio.ServerInterceptor):
    """Lets calls through whose token may. A stream ends in words within seconds of its token's end."""

    def __init__(self, rules: GrpcRules, authenticator: Authenticator, metrics: Metrics) -> None:
        self._rules, self._authenticator, self._metrics = rules, authenticator, metrics

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any) -> Any:
        """The handler of one new call; runs in the call's own task, as that handler does."""
        start = time.perf_counter()
        method = handler_call_details.method
        rule = self._rules.find(method)
        try:
            caller = self._authenticator.admit(_credentials(handler_call_details.invocation_metadata), rule)
            if rule is None:
                raise MethodNotAllowed(f"there is no method {method[:200]} here", code="no_route")
        except DemurError as error:
            self._metrics.request("grpc", status(error).grpc, time.perf_counter() - start)
            return refusing(error)
        CALLER.set(caller)
        handler = await continuation(handler_call_details)
        if caller is None or handler is None or handler.unary_unary is not None:
            return handler
        return self._held(handler, caller)

    def _held(self, handler: Any, caller: Caller) -> Any:
        """A stream of ours, cut when its token ends; of the library's (reflection) each is over at once anyway."""
        inner = handler.stream_stream or handler.unary_stream
        if not asyncio.iscoroutinefunction(inner):
            return handler
        authenticator = self._authenticator

        async def call(requests: Any, context: Any) -> None:
            work = asyncio.ensure_future(inner(requests, context))
            try:
                while not (await asyncio.wait([work], timeout=_LOOK_SECONDS))[0]:
                    if not authenticator.still_valid(caller):
                        break
            finally:
                ended = not work.done()
                if ended:
                    work.cancel()
                    await asyncio.gather(work, return_exceptions=True)
            if ended:
                await abort(context, authenticator.stream_ended())
            await work  # raises what it raised

        make = (
            grpc.stream_stream_rpc_method_handler if handler.request_streaming else grpc.unary_stream_rpc_method_handler
        )
        return make(call, handler.request_deserializer, handler.response_serializer)


def _credentials(metadata: Any) -> list[str]:
    return [
        value if isinstance(value, str) else value.decode("latin-1")
        for name, value in metadata or ()
        if name == "authorization"
    ]
