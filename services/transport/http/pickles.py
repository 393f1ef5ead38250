"""No content type of BentoML is taken anywhere: its decoders unpickle what callers send."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from services.errors import UnsupportedMediaType
from services.transport.http.body import discard, error_response

FOREIGN = "application/vnd.bentoml"
"""How these types begin, such as ``application/vnd.bentoml+pickle``."""
_MOST_DISCARDED = 32 << 20


class WithoutPickles:
    """ASGI: an application that never sees a request of such a type, whatever its routes and methods."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _content_type(scope)
        if not given.startswith(FOREIGN):
            await self._app(scope, receive, send)
            return
        refusal = UnsupportedMediaType(
            f"content-type {given[:100]!r} is not taken: nothing is unpickled here; send application/json",
            code="content_type",
            field="content-type",
            value=given[:100],
            allowed="application/json",
        )
        await discard(Request(scope, receive), _MOST_DISCARDED)
        await error_response(refusal)(scope, receive, send)


def _content_type(scope: Scope) -> str:
    if scope["type"] != "http":
        return ""
    for name, value in scope["headers"]:
        if name == b"content-type":
            found: str = value.decode("latin-1").strip().lower()
            return found
    return ""
