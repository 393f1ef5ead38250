"""Web application of the review console."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.access.authenticator import Authenticator
from services.review import identity
from services.review.assets import Asset, Assets
from services.review.installation import Installation
from services.review.relay import Refused, Relay
from services.runtime.errors import (
    DemurError,
    Forbidden,
    InvalidInput,
    MethodNotAllowed,
    NotFound,
    Unauthenticated,
    internal,
    shortened,
)
from services.runtime.logging import get_logger
from services.transport.http.body import error_response, json_only, json_response, read_body

_log = get_logger(__name__)
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_LOGIN_BYTES = 4096
MoreRoutes = Callable[[Relay], Sequence[Route]]
"""Function that returns routes of a view, such as pictures of an input."""
Beside = Callable[[Any], AbstractAsyncContextManager[None]]


class _Login(msgspec.Struct, forbid_unknown_fields=True):
    token: str = ""
    name: str = ""


class Console:
    """Endpoints of the console itself."""

    def __init__(
        self, assets: Assets, installation: Installation, authenticator: Authenticator | None, *, secure: bool
    ) -> None:
        """
        Args:
            authenticator: checks tokens; None: reviewers state their name.
            secure: whether reviewers reach the console with TLS, here or at a proxy.
        """
        self._assets, self._installation = assets, installation
        self._authenticator, self._secure = authenticator, secure

    def routes(self) -> list[Route]:
        return [
            Route("/", self.page),
            Route("/static/{version}/{path:path}", self.file),
            Route("/livez", self.alive),
            Route("/readyz", self.alive),
            Route("/api/session", self.session),
            Route("/api/session", self.log_in, methods=["POST"]),
            Route("/api/session", self.log_out, methods=["DELETE"]),
            Route("/api/tasks", self.tasks),
        ]

    async def page(self, request: Request) -> Response:
        return _asset(request, self._assets.page, "no-cache")

    async def file(self, request: Request) -> Response:
        asset = self._assets.by_path.get(request.path_params["path"])
        if asset is None or request.path_params["version"] != self._assets.version:
            raise NotFound(f"there is no {shortened(request.url.path)}; load the page anew", code="no_file")
        return _asset(request, asset, "public, max-age=31536000, immutable")

    async def alive(self, request: Request) -> Response:
        return json_response({"status": "alive"})

    async def session(self, request: Request) -> Response:
        """Return who is logged in; None where nobody is, or the token has ended."""
        who = identity.reviewer(request.headers)
        try:
            name = self._known(who) if who.token or who.name else None
        except DemurError:
            name = None
        document = {"reviewer": name, "tokens": self._authenticator is not None, "version": self._assets.version}
        return json_response(document)

    async def log_in(self, request: Request) -> Response:
        """Begin a session.

        Raises:
            Unauthenticated, Forbidden, InvalidInput: the token is not valid here, or the name is missing.
        """
        json_only(request)
        try:
            login = msgspec.json.decode(await read_body(request, _LOGIN_BYTES), type=_Login)
        except msgspec.DecodeError as error:
            raise InvalidInput(f"not a login: {error}", code="not_a_body", field="body") from error
        if self._authenticator is not None:
            who = identity.Reviewer(token=login.token.strip())
        else:
            who = identity.Reviewer(name=identity.check_name(login.name))
        response = json_response({"reviewer": self._known(who), "tokens": self._authenticator is not None})
        identity.begin(response, who, secure=self._secure)
        return response

    async def log_out(self, request: Request) -> Response:
        response = json_response({"reviewer": None})
        identity.end(response, secure=self._secure)
        return response

    async def tasks(self, request: Request) -> Response:
        return json_response({"tasks": await self._installation.tasks(identity.reviewer(request.headers))})

    def _known(self, who: identity.Reviewer) -> str:
        if self._authenticator is None:
            return identity.check_name(who.name)
        try:
            caller = self._authenticator.admit([f"Bearer {who.token}"], "review")
        except Forbidden:  # operators see figures, and no requests
            caller = self._authenticator.admit([f"Bearer {who.token}"], "policy")
        assert caller is not None
        return caller.name


def application(
    console: Console, relay: Relay, more_routes: Sequence[MoreRoutes], beside: Beside | None = None
) -> Starlette:
    """Build the ASGI application.

    Args:
        more_routes: functions that return routes of views; they go before the relay's.
        beside: lifespan context of the application.
    """
    routes = [*console.routes(), *(route for make in more_routes for route in make(relay)), *relay.routes()]
    app = Starlette(
        routes=routes,
        exception_handlers={404: _unknown, 405: _wrong_method, DemurError: _failed, Refused: _refused},
        lifespan=beside,
    )
    app.router.redirect_slashes = False
    return app


def with_session(app: Any) -> Any:
    """Return an application that refuses calls to services without a session."""

    async def checked(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"].startswith(("/api/tasks", "/api/monitor")):
            who = identity.reviewer(Request(scope).headers)
            if not (who.token or who.name):
                error = Unauthenticated("nobody is logged in; log in first", code="no_session")
                await error_response(error)(scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


def with_headers(app: Any) -> Any:
    """Return an application whose responses carry the security headers."""
    added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]

    async def secured(scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = message | {"headers": [*message["headers"], *added]}
            await send(message)

        await app(scope, receive, send_with_headers if scope["type"] == "http" else send)

    return secured


def _asset(request: Request, asset: Asset, caching: str) -> Response:
    headers = {"cache-control": caching, "vary": "accept-encoding"}
    content = asset.content
    if asset.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["content-encoding"] = asset.compressed, "gzip"
    return Response(content, headers=headers, media_type=asset.media_type)


async def _unknown(request: Request, error: Exception) -> Response:
    return error_response(NotFound(f"there is no {shortened(request.url.path)}", code="no_route"))


async def _wrong_method(request: Request, error: Exception) -> Response:
    path = shortened(request.url.path)
    return error_response(
        MethodNotAllowed(f"{path} does not take {request.method}", code="method_not_allowed", value=request.method)
    )


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.response


async def _failed(request: Request, error: Exception) -> Response:
    if not isinstance(error, DemurError):
        _log.error("a call failed because of a defect", exc_info=error)
    return error_response(internal(error))
