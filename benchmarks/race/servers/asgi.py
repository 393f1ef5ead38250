"""ASGI applications that answer a request's body with another: ``echo``, and ``prototype``.

They are the least that HTTP, and HTTP with deferral, cost in Python.
"""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Messages = MutableMapping[str, Any]
Application = Callable[
    [Messages, Callable[[], Awaitable[Messages]], Callable[[Messages], Awaitable[None]]], Awaitable[None]
]


def answering(answer: Callable[[bytes], bytes]) -> Application:
    """Return an application that answers each POST with ``answer`` of its body."""

    async def application(
        scope: Messages, receive: Callable[[], Awaitable[Messages]], send: Callable[[Messages], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http":
            return
        parts, more = [], True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            more = message.get("more_body", False)
        body = answer(b"".join(parts))
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})

    return application


def echo() -> Application:
    return answering(lambda body: body)


def prototype() -> Application:
    from benchmarks.race.servers.deferring import opened

    return answering(opened(os.environ["RACE_HOME"], float(os.environ["RACE_THRESHOLD"])))
