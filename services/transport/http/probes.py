"""Probes /livez and /readyz: as part of an application, and on a port of their own for callers without certificates."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from starlette.responses import PlainTextResponse

_SECONDS = 5.0
_MOST_BYTES = 8 << 10
_MOST_CONNECTIONS = 32
_UNREADY = "Service is not ready because .__is_ready__() returns False."
"""Text of BentoML, so that callers see no difference between its server and ours."""


def probe_answers(ready: Callable[[], bool], otherwise: Any) -> Any:
    """Return the ASGI application of the two probes' paths.

    Args:
        ready: whether /readyz succeeds.
        otherwise: application that answers other methods than GET and HEAD.
    """

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            await otherwise(scope, receive, send)
            return
        good = scope["path"] != "/readyz" or ready()
        response = PlainTextResponse("\n") if good else PlainTextResponse(_UNREADY, status_code=503)
        await response(scope, receive, send)

    return answer


class Probes:
    """HTTP server on the event loop, independent of the main one; it answers as long as the loop turns."""

    def __init__(self, ready: Callable[[], bool]) -> None:
        self._ready = ready
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, host: str, port: int) -> None:
        """Listen on an address.

        Raises:
            OSError: the address is taken or not local.
        """
        self._server = await asyncio.start_server(self._serve, host, port, limit=_MOST_BYTES)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request per connection."""
        self._open += 1
        try:
            if self._open <= _MOST_CONNECTIONS:
                async with asyncio.timeout(_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._answer(head))
                    await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if path not in (b"/livez", b"/readyz"):
            return _response(b"404 Not Found", b"only /livez and /readyz are here\n")
        if method not in (b"GET", b"HEAD"):
            return _response(b"405 Method Not Allowed", b"GET is taken\n", b"allow: GET, HEAD\r\n")
        if path == b"/readyz" and not self._ready():
            return _response(b"503 Service Unavailable", b"not ready\n")
        return _response(b"200 OK", b"" if method == b"HEAD" else b"\n")


def _response(status: bytes, body: bytes, headers: bytes = b"") -> bytes:
    head = b"HTTP/1.1 " + status + b"\r\ncontent-type: text/plain\r\nconnection: close\r\n" + headers
    return head + b"content-length: %d\r\n\r\n" % len(body) + body
