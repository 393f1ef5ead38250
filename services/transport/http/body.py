"""Bodies of requests and errors: what is taken, how much of it, and how a refusal looks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from services.runtime.errors import (
    Cancelled,
    DemurError,
    MethodNotAllowed,
    TooLarge,
    Unauthenticated,
    UnsupportedMediaType,
    shortened,
    status,
)

JSON = "application/json"
PROTOBUF = "application/protobuf"
FORM = "multipart/form-data"
_DISCARD_SECONDS = 1.0
_MOST_DIGITS = 18
"""Of a length; Python refuses to read thousands of them."""


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body, if it is not longer than ``limit`` bytes and not compressed.

    Raises:
        TooLarge, UnsupportedMediaType, Cancelled: see the messages.
    """
    parts = [part async for part in body_parts(request, limit)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def body_parts(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    """The body as it comes; raises as ``read_body``."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise UnsupportedMediaType("compressed bodies are not taken; send the body as it is", code="content_encoding")
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and (size := int(declared[:_MOST_DIGITS])) > limit:
        raise _too_large(size, limit)
    size = 0
    request.state.body_read = False
    while not request.state.body_read:
        part = await _next_part(request)
        if part is None:
            raise Cancelled("the caller went away while sending the body", code="disconnected")
        size += len(part)
        if size > limit:
            raise _too_large(size, limit)
        yield part


async def discard(request: Request, most: int) -> None:
    """Take up to ``most`` bytes of what a refused caller still sends, for a second at most.

    Many clients read no answer before all is sent, and a connection that is closed on data that nobody took is
    reset: the refusal would be lost.
    """
    headers = request.headers
    sends = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    if not sends or "expect" in headers or getattr(request.state, "body_read", False):
        return  # who sends an "expect" waits for our word before the body
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            request.state.body_read = False
            while most > 0 and not request.state.body_read:
                part = await _next_part(request)
                if part is None:
                    return
                most -= len(part)


async def _next_part(request: Request) -> bytes | None:
    """None: the caller went away. Notes the end of the body in the request's state."""
    message = await request.receive()
    if message["type"] == "http.disconnect":
        return None
    request.state.body_read = not message.get("more_body", False)
    part: bytes = message.get("body", b"")
    return part


def stalled(request: Request) -> bool:
    """Return whether reading the body began and did not end: nobody knows when the next request would."""
    return not getattr(request.state, "body_read", True)


def media_type(request: Request, *, forms: bool = False) -> str:
    """JSON or protobuf, or a form where forms are taken; pickles, which some servers take, are refused on every route.

    Raises:
        UnsupportedMediaType: another content type.
    """
    given = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    taken = (JSON, PROTOBUF, FORM) if forms else (JSON, PROTOBUF)
    if given in taken:
        return given
    if given == "application/x-protobuf":
        return PROTOBUF
    *others, last = taken
    raise UnsupportedMediaType(
        f"content-type {shortened(given)!r} is not taken; send {', '.join(others)} or {last}",
        code="content_type",
        field="content-type",
        value=given,
        allowed=", ".join(taken),
    )


def json_only(request: Request) -> None:
    """For routes that take JSON and nothing else; a call that names no type is taken to mean it.

    Raises:
        UnsupportedMediaType: another content type.
    """
    given = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if given != JSON:
        raise UnsupportedMediaType(
            f"content-type {shortened(given)!r} is not taken here; send {JSON}, or use gRPC",
            code="content_type",
            field="content-type",
            value=given,
            allowed=JSON,
        )


def json_response(value: Any, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON body; NaN becomes null."""
    return Response(msgspec.json.encode(value), code, headers, media_type=JSON)


def error_response(error: DemurError) -> Response:
    """``{"error": {...}}`` with the same fields as the gRPC detail."""
    headers = {"retry-after": str(max(1, round(error.retry_after_seconds)))} if error.retry_after_seconds else {}
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = error.allowed
    if isinstance(error, Unauthenticated):
        known = "" if error.code == "token_needed" else ', error="invalid_token"'
        headers["www-authenticate"] = f'Bearer realm="demur"{known}'
    return json_response({"error": describe(error)}, status(error).http, headers)


def describe(error: DemurError) -> dict[str, Any]:
    """Return the fields of an error that say something."""
    fields = {
        "code": error.code,
        "message": error.message,
        "field": error.field,
        "value": error.value,
        "unit": error.unit,
        "allowed": error.allowed,
    }
    found: dict[str, Any] = {name: value for name, value in fields.items() if value}
    if error.index >= 0:
        found["index"] = error.index
    if error.retry_after_seconds:
        found["retry_after_seconds"] = error.retry_after_seconds
    return found


def _too_large(size: int, limit: int) -> TooLarge:
    return TooLarge(
        f"a body of {size} bytes or more, at most {limit} are taken in one call; use a gRPC stream, which has no limit",
        code="body_too_large",
        field="content-length",
        value=str(size),
        unit="bytes",
        allowed=f"[0, {limit}]",
    )
