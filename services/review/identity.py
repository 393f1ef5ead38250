"""Identity of a reviewer: a token or a name in a cookie that scripts cannot read, and protection against forged calls.

The console holds no secret of its own: the token of the cookie goes to the services with every call, which check it.
"""

import base64
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from starlette.responses import Response

from services.access.rules import PROBE_ROUTES
from services.runtime.addresses import same_origin
from services.runtime.errors import DemurError, Forbidden, InvalidInput
from services.transport.actor import ACTOR_KEY, ANONYMOUS

TOKEN_COOKIE = "demur_review_token"  # noqa: S105 - a name
NAME_COOKIE = "demur_review_name"
CSRF_HEADER = "x-demur-review"
"""Header of every call that changes something: pages of other origins cannot send it without being asked first."""
SESSION_SECONDS = 12 * 3600
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@/-]{0,63}", re.ASCII)
_SAFE = ("GET", "HEAD")
PROGRAM_PATHS = "/label-studio/"
"""Beginning of the addresses that programs call: with a token in a header, and never by a cookie."""
PROGRAM = "label-studio"
"""Name of a program that states none."""
Refuse = Callable[[DemurError], Response]


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Token or name of a caller."""

    token: str = ""
    """Bearer token; empty: the installation needs none."""
    name: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of calls to services."""
        if self.token:
            return {"authorization": f"Bearer {self.token}"}
        return {ACTOR_KEY: self.name or ANONYMOUS}


def reviewer(headers: Any) -> Reviewer:
    """Return the reviewer of a request: a bearer token, else the cookies. A proxy may use the basic scheme itself."""
    bearer = _bearer(headers)
    if bearer is not None:
        return bearer
    cookies = SimpleCookie()
    try:
        cookies.load(headers.get("cookie", ""))
    except CookieError:
        return Reviewer()
    token, name = cookies.get(TOKEN_COOKIE), cookies.get(NAME_COOKIE)
    text = unquote(name.value) if name is not None else ""
    return Reviewer(token.value if token is not None else "", text if _NAME.fullmatch(text) else "")


def program(headers: Any) -> Reviewer:
    """Return the caller below ``PROGRAM_PATHS``: an ``authorization`` header, else a program without a token."""
    return _bearer(headers) or _basic(headers) or Reviewer(name=PROGRAM)


def _bearer(headers: Any) -> Reviewer | None:
    scheme, _, text = headers.get("authorization", "").strip().partition(" ")
    return Reviewer(token=text.strip()) if scheme.lower() == "bearer" else None


def _basic(headers: Any) -> Reviewer | None:
    """Return the caller of the basic scheme: the password is the token; without one, the user is the caller's name."""
    scheme, _, text = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, _, password = base64.b64decode(text.strip(), validate=True).decode("ascii").partition(":")
    except ValueError:
        return None
    return Reviewer(token=password, name=user if _NAME.fullmatch(user) else "")


def check_name(name: str) -> str:
    """Return the name of a reviewer without a token.

    Raises:
        InvalidInput: it is missing, too long, or has other characters.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise InvalidInput.about(
            "name",
            name[:70],
            "must be 1 to 64 letters, digits, spaces and . _ @ / -",
            code="bad_name",
            allowed="1 to 64 characters",
        )
    return name


def begin(response: Response, who: Reviewer, *, secure: bool) -> None:
    """Set the cookie of a session."""
    cookie, value = (TOKEN_COOKIE, who.token) if who.token else (NAME_COOKIE, quote(who.name))
    response.set_cookie(
        cookie, value, max_age=SESSION_SECONDS, path="/", secure=secure, httponly=True, samesite="strict"
    )


def end(response: Response, *, secure: bool) -> None:
    """Remove the cookies of a session."""
    for cookie in (TOKEN_COOKIE, NAME_COOKIE):
        response.delete_cookie(cookie, path="/", secure=secure, httponly=True, samesite="strict")


class Guard:
    """ASGI application that refuses forged calls, and passes the token of a cookie on as a header."""

    def __init__(self, app: Any, refuse: Refuse, *, tokens: bool, url: str = "") -> None:
        """Wrap an application.

        Args:
            tokens: whether callers need a token; without one, only loopback addresses are answered, and only under
                addresses of this machine's own, since a name of a stranger's domain may point to it, too.
            url: address that reviewers open; empty: the ``Host`` of each call.
        """
        self._app, self._refuse, self._tokens, self._url = app, refuse, tokens, url

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            called = scope["path"].startswith(PROGRAM_PATHS)
            self._check(scope, headers, program=called)
        except DemurError as error:
            await self._refuse(error)(scope, receive, send)
            return
        who = program(headers) if called else reviewer(headers)
        scheme = headers.get("authorization", "").partition(" ")[0].lower()
        if who.token and scheme in ("", "basic"):
            others = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
            scope = scope | {"headers": [*others, (b"authorization", f"Bearer {who.token}".encode())]}
        await self._app(scope, receive, send)

    def _check(self, scope: Any, headers: dict[str, str], *, program: bool) -> None:
        own = headers.get("host", "")
        if not self._tokens and scope["path"] not in PROBE_ROUTES:
            _check_local(scope, urlsplit(f"//{own}").hostname or "")
        if scope["method"] in _SAFE:
            return
        origin = headers.get("origin", "")
        if self._url:
            foreign = origin and not same_origin(origin, self._url)
        else:
            foreign = origin and urlsplit(origin).netloc.lower() != own.lower()
        if foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Forbidden(
                f"the call comes from a page of another address than {self._url or own}; open that one",
                code="foreign_origin",
                field="origin",
                value=origin[:100],
            )
        if headers.get(CSRF_HEADER) != "1" and not program:
            raise Forbidden(
                f"{CSRF_HEADER}: must be 1, which pages of other addresses cannot send", code="csrf", field=CSRF_HEADER
            )


def _check_local(scope: Any, host: str) -> None:
    """Refuse a call without a token unless it comes from a loopback address, and names this machine by an own one.

    Raises:
        Forbidden: anybody who reaches the port could label under any name.
    """
    peer = scope["client"][0] if scope.get("client") else ""
    if not _loopback(peer):
        raise Forbidden.about(
            "address",
            peer,
            "must be a loopback address where no tokens are needed; open localhost, or set DEMUR_TOKENS",
            code="foreign_address",
        )
    if not _own_address(host):
        raise Forbidden.about(
            "host", host, "must be localhost or an IP address where no tokens are needed", code="foreign_host"
        )


def _loopback(peer: str) -> bool:
    try:
        number = ipaddress.ip_address(peer)
    except ValueError:
        return False
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return (mapped or number).is_loopback


def _own_address(host: str) -> bool:
    if "." not in host and ":" not in host:  # localhost, or a name without a domain
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
