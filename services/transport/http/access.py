"""Authentication of HTTP requests, in a service and in the monitor, before their route is looked up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_plus

from starlette.requests import Request

from services.access.authenticator import Authenticator
from services.access.caller import CALLER, Caller
from services.access.rules import HttpRules
from services.access.tokens import looks_like_one
from services.runtime.errors import (
    DemurError,
    MethodNotAllowed,
    NotFound,
    Unauthenticated,
    UnsupportedMediaType,
    shortened,
    status,
)
from services.transport.http.body import discard
from services.transport.http.refusal import counted_as, refused

_DISCARDED_BYTES = 1 << 20
"""Of what a refused caller still sends."""
Count = Callable[[str, str, float], None]


class Guard:
    """An ASGI application that lets calls through to another: those whose token may, and none with pickles."""

    def __init__(
        self, app: Any, rules: HttpRules, authenticator: Authenticator | None, count: Count | None = None
    ) -> None:
        """
        Args:
            authenticator: None: nobody is asked for a token.
            count: told protocol, status and duration of what was refused.
        """
        self._app, self._rules, self._authenticator, self._count = app, rules, authenticator, count

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Websockets are closed: there are none."""
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
        response = refused(scope["path"], error)
        request = Request(scope, receive)
        if not isinstance(error, NotFound | MethodNotAllowed):
            response.headers["connection"] = "close"
        await discard(request, _DISCARDED_BYTES)
        if self._count is not None:
            self._count(counted_as(scope["path"]), str(status(error).http), time.perf_counter() - start)
        await response(scope, receive, send)


def refuse_pickles(scope: Any) -> None:
    """Pickles, which BentoML reads, are code.

    Raises:
        UnsupportedMediaType: the body is one, or is of another of BentoML's own types.
    """
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value.lower()
            if b"pickle" in kind or b"vnd.bentoml" in kind:
                given = value[:80].decode("latin-1")
                raise UnsupportedMediaType(
                    f"content-type {given!r} is not taken anywhere: it could hold code",
                    code="content_type",
                    field="content-type",
                    value=given,
                    allowed="application/json, application/protobuf",
                )


_HEADER = b"authorization"


def _in_address(query: bytes) -> bool:
    """Whether a query holds a token, or names one."""
    if not query:
        return False
    text = unquote_plus(query.decode("latin-1"))
    return looks_like_one(text) or "access_token=" in text


def _while_held(send: Any, authenticator: Authenticator, caller: Caller) -> Any:
    """Sends as long as the token is held: an answer in many parts, such as events of a job, ends with it."""
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
