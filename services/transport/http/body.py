"""Bodies of requests and errors: accepted types, limits, and the form of error responses."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

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
    status,
)

JSON = "application/json"
PROTOBUF = "application/protobuf"
FORM = "multipart/form-data"
_DISCARD_SECONDS = 1.0
_MOST_DIGITS = 18
"""Maximum digits of a length; Python refuses to parse thousands of them."""


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body, if it is not longer than ``limit`` bytes and not compressed.

    Raises:
        TooLarge, UnsupportedMediaType, Cancelled: see the messages.
    """
    parts = [part async for part in body_parts(request, limit)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def body_parts(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives; raises as ``read_body``."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise UnsupportedMediaType("compressed bodies are not taken; send the body as it is", code="content_encoding")
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit():
        check_size(int(declared[:_MOST_DIGITS]), limit)
    size = 0
    request.state.body_read = False
    while not request.state.body_read:
        part = await _next_part(request)
        if part is None:
            raise Cancelled("the caller went away while sending the body", code="disconnected")
        size += len(part)
        check_size(size, limit)
        yield part


async def discard(request: Request, most: int) -> None:
    """Read up to ``most`` bytes of the rest of a refused request, for a second at most.

    Many clients read no answer before all is sent, and a connection that is closed with unread data is reset: the error
    response would be lost.
    """
    headers = request.headers
    sends = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    if not sends or "expect" in headers or getattr(request.state, "body_read", False):
        return  # a client that sends "expect" waits for a response before the body
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_SECONDS):
            request.state.body_read = False
            while most > 0 and not request.state.body_read:
                part = await _next_part(request)
                if part is None:
                    return
                most -= len(part)


async def _next_part(request: Request) -> bytes | None:
    """Return the next part, None if the caller disconnected; record the end of the body in the request's state."""
    message = await request.receive()
    if message["type"] == "http.disconnect":
        return None
    request.state.body_read = not message.get("more_body", False)
    part: bytes = message.get("body", b"")
    return part


def stalled(request: Request) -> bool:
    """Return whether the body was read in part: the start of the next request would be unknown."""
    return not getattr(request.state, "body_read", True)


class Written(NamedTuple):
    """Body of a response with status 200."""

    content: bytes
    media_type: str
    headers: Mapping[str, str] = {}
    """Headers besides the length and type of the content."""

    def response(self) -> Response:
        return Response(self.content, headers=dict(self.headers), media_type=self.media_type)


def media_type(content_type: str, *, forms: bool = False) -> str:
    """Return JSON or protobuf, or a form if forms are accepted; pickles, as of BentoML, are refused on every route.

    Args:
        content_type: the header; JSON if it is absent.

    Raises:
        UnsupportedMediaType: another content type.
    """
    kind = without_parameters(content_type)
    taken = (JSON, PROTOBUF, FORM) if forms else (JSON, PROTOBUF)
    if kind in taken:
        return kind
    if kind == "application/x-protobuf":
        return PROTOBUF
    raise UnsupportedMediaType.about("content-type", kind, code="content_type", allowed=", ".join(taken))


def json_only(request: Request) -> None:
    """Check that a route which accepts only JSON gets it; a call without a content type is taken as JSON.

    Raises:
        UnsupportedMediaType: another content type.
    """
    kind = without_parameters(request.headers.get("content-type", JSON))
    if kind != JSON:
        raise UnsupportedMediaType.about(
            "content-type", kind, code="content_type", allowed=JSON, advice="send JSON, or use gRPC"
        )


def without_parameters(content_type: str) -> str:
    """Return the media type of a content type, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def json_response(value: Any, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON body; NaN becomes null."""
    return Response(msgspec.json.encode(value), code, headers, media_type=JSON)


def error_response(error: DemurError) -> Response:
    """Return ``{"error": {...}}`` with the same fields as the gRPC detail."""
    headers = {"retry-after": str(max(1, round(error.retry_after_seconds)))} if error.retry_after_seconds else {}
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = error.allowed
    if isinstance(error, Unauthenticated):
        known = "" if error.code == "token_needed" else ', error="invalid_token"'
        headers["www-authenticate"] = f'Bearer realm="demur"{known}'
    return json_response({"error": describe(error)}, status(error).http, headers)


def describe(error: DemurError) -> dict[str, Any]:
    """Return the fields of an error that are not empty."""
    fields = {
        "code": error.code,
        "message": error.message,
        "field": error.field,
        "value": error.value,
        "unit": error.unit,
        "allowed": error.allowed,
    }
    present: dict[str, Any] = {name: value for name, value in fields.items() if value}
    if error.index >= 0:
        present["index"] = error.index
    if error.retry_after_seconds:
        present["retry_after_seconds"] = error.retry_after_seconds
    return present


def check_size(size: int, limit: int) -> None:
    """Check the size of a body, in bytes.

    Raises:
        TooLarge: it is larger than the limit.
    """
    if size > limit:
        raise TooLarge.about(
            "content-length",
            size,
            code="body_too_large",
            unit="bytes",
            allowed=f"[0, {limit}]",
            advice="use a gRPC stream, which has no limit",
        )
