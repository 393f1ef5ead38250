"""Layers around every HTTP call: access before routing, and trace, drain, errors and metrics around the endpoint.

``AccessGuard`` is an ASGI application around a whole server, a service or the monitor. ``CallLayer`` wraps the
endpoints of a service.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote_plus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.access.authenticator import Authenticator
from services.access.caller import CALLER, Caller
from services.access.rules import HttpRules
from services.access.tokens import looks_like_one
from services.request.metrics import Metrics
from services.runtime.errors import (
    Cancelled,
    DeadlineExceeded,
    DemurError,
    MethodNotAllowed,
    NotFound,
    Unauthenticated,
    UnsupportedMediaType,
    draining,
    internal,
    shortened,
    status,
)
from services.runtime.lifecycle import Lifecycle
from services.runtime.logging import called, get_logger
from services.tracing.context import Carrier
from services.tracing.trace import Trace
from services.tracing.tracer import Tracer
from services.transport.http.body import discard, error_response, stalled
from services.transport.http.error_response import response_for, transport_of

_DISCARDED_BYTES = 1 << 20
"""Maximum size of the rest of a refused request's body that is read, in bytes."""
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
Count = Callable[[str, str, float], None]
Endpoint = Callable[[Request], Awaitable[Response]]
Refusal = Callable[[DemurError], Response]
"""Maker of the response of an error."""
_log = get_logger(__name__)


class AccessGuard:
    """ASGI application that passes permitted calls to another one, and refuses pickles."""

    def __init__(
        self, app: Any, rules: HttpRules, authenticator: Authenticator | None, count: Count | None = None
    ) -> None:
        """Wrap an application.

        Args:
            authenticator: checks tokens; None: calls need no token.
            count: called with protocol, status and duration of a refused call.
        """
        self._app, self._rules, self._authenticator, self._count = app, rules, authenticator, count

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass on permitted calls; websockets are closed, since none are served."""
        kind = scope["type"]
        if kind == "lifespan":
            await self._app(scope, receive, send)
            return
        if kind != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        start = time.perf_counter()
        try:
            refuse_pickles(scope)
            caller = None if self._authenticator is None else self._admitted(self._authenticator, scope)
        except DemurError as error:
            await self._refuse(error, scope, receive, send, start)
            return
        CALLER.set(caller)
        if caller is None or self._authenticator is None:
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, _while_held(send, self._authenticator, caller))

    def _admitted(self, authenticator: Authenticator, scope: Any) -> Caller | None:
        method, path = scope["method"], scope["path"]
        rule = self._rules.find(method, path)
        if rule != "open" and _in_address(scope["query_string"]):
            raise Unauthenticated(
                "a token stands in the address, where logs keep it: revoke it, and send the next one as "
                "`authorization: Bearer TOKEN`",
                code="token_in_address",
            )
        caller = authenticator.admit(
            [value.decode("latin-1") for name, value in scope["headers"] if name == _HEADER], rule
        )
        if rule is None:
            raise self._no_rule(method, path)
        return caller

    def _no_rule(self, method: str, path: str) -> DemurError:
        known = self._rules.methods(path)
        path = shortened(path)
        if known is None:
            return NotFound(f"no {method} {path} here; /v1/openapi.json lists the routes", code="no_route")
        allowed = ", ".join(sorted(known))
        return MethodNotAllowed(
            f"{path} takes {allowed}, not {method}", code="method_not_allowed", value=method, allowed=allowed
        )

    async def _refuse(self, error: DemurError, scope: Any, receive: Any, send: Any, start: float) -> None:
        response = response_for(scope["path"], error)
        request = Request(scope, receive)
        if not isinstance(error, NotFound | MethodNotAllowed):
            response.headers["connection"] = "close"
        await discard(request, _DISCARDED_BYTES)
        if self._count is not None:
            self._count(transport_of(scope["path"]), str(status(error).http), time.perf_counter() - start)
        await response(scope, receive, send)


def refuse_pickles(scope: Any) -> None:
    """Refuse pickles, which BentoML reads: they are code.

    Raises:
        UnsupportedMediaType: the body is a pickle, or of another of BentoML's own types.
    """
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.lower()
            if b"pickle" in kind or b"vnd.bentoml" in kind:
                raise UnsupportedMediaType.about(
                    "content-type",
                    value[:80].decode("latin-1"),
                    "is not accepted by any route: it could contain code",
                    code="content_type",
                    allowed="application/json, application/protobuf",
                )


_HEADER = b"authorization"


def _in_address(query: bytes) -> bool:
    """Return whether a query contains a token, or a parameter for one."""
    if not query:
        return False
    text = unquote_plus(query.decode("latin-1"))
    return looks_like_one(text) or "access_token=" in text


def _while_held(send: Any, authenticator: Authenticator, caller: Caller) -> Any:
    """Return a ``send`` that ends an answer in many parts, such as events of a job, when the token becomes invalid."""
    begun = ended = False

    async def checked(message: Any) -> None:
        nonlocal begun, ended
        if ended:
            return
        if message["type"] == "http.response.body" and begun and not authenticator.still_valid(caller):
            ended = True
            authenticator.stream_ended()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        begun = message["type"] == "http.response.body"
        await send(message)

    return checked


class CallLayer:
    """Wrapper of a service's endpoints."""

    def __init__(self, lifecycle: Lifecycle, metrics: Metrics, tracer: Tracer, discarded_bytes: int) -> None:
        """Initialise the layer; ``discarded_bytes`` is the largest rest of a body that is read after an error."""
        self.lifecycle = lifecycle
        self._metrics, self._tracer = metrics, tracer
        self._discarded_bytes = discarded_bytes

    def wrapped(
        self,
        endpoint: Endpoint,
        *,
        while_draining: bool = False,
        refusal: Refusal = error_response,
        transport: str = "http",
    ) -> Endpoint:
        """Return an endpoint whose calls are traced and counted, and whose errors become typed responses.

        Args:
            while_draining: whether calls are answered while the process drains, such as those about running jobs.
            refusal: makes a response of an error.
            transport: transport that the metrics count calls under.
        """

        async def call(request: Request) -> Response:
            start = time.perf_counter()
            name, route = _named(request)
            trace = self.begin(name, route, lambda: request.headers)
            with self.lifecycle.in_flight(), trace:
                try:
                    if not while_draining:
                        self.check_open()
                    response = await endpoint(request)
                except Exception as failure:
                    error, response = self.refused(failure, trace, refusal)
                    if not isinstance(error, (DeadlineExceeded, Cancelled)):
                        await discard(request, self._discarded_bytes)
                    if stalled(request):
                        response.headers["connection"] = "close"
                trace.note("http.response.status_code", response.status_code)
                self.ended(transport, name, response.status_code, start)
                return response

        return call

    # Parts of a call's way, also used without ASGI (``small_calls``)

    def begin(self, name: str, route: str, carrier: Carrier) -> Trace:
        """Begin the trace of a call; ``name`` is the method with the route as declared."""
        attributes = {"http.request.method": name.partition(" ")[0], "http.route": route}
        return self._tracer.begin(name, carrier, attributes)

    def check_open(self) -> None:
        """Check that calls are still accepted.

        Raises:
            Draining: the process is about to end.
        """
        if self.lifecycle.draining:
            raise draining()

    def refused(self, failure: Exception, trace: Trace, refusal: Refusal) -> tuple[DemurError, Response]:
        """Note the failure of a call; return its error and response."""
        error = internal(failure)
        trace.failed(error)
        if error is not failure:
            _log.error("a call failed by a defect", exc_info=failure)
        response = refusal(error)
        if status(error).http in (413, 503):
            response.headers["connection"] = "close"
        return error, response

    def ended(self, transport: str, name: str, code: int, start: float) -> None:
        """Count and log a call that began at ``start``, a time of ``perf_counter``."""
        seconds = time.perf_counter() - start
        self._metrics.request(transport, str(code), seconds)
        called(transport, name, str(code), seconds)


def _named(request: Request) -> tuple[str, str]:
    """Return method and route as declared; actual paths may contain secrets of callers, and are unbounded in number."""
    matched = request.scope.get("route")
    route = matched.path if isinstance(matched, Route) else ""
    method = request.method if request.method in _METHODS else "_OTHER"
    return f"{method} {route}" if route else method, route
