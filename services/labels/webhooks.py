"""Sends deliveries: signed, until the receiver says that it has them. It may hear of one twice, never not at all.

A delivery's id is its idempotency key: after a restart, or a word of the receiver that was lost, it comes again.
"""

from __future__ import annotations

import asyncio
import http.client
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from sqlalchemy import Connection

from services.labels.outbox import Delivery, is_due, settle, take_due
from services.labels.signature import HEADER, sign
from services.ledger.writer import Place
from services.runtime.errors import DemurError
from services.runtime.logging import get_logger

T = TypeVar("T")
_log = get_logger(__name__)
TIMEOUT_SECONDS = 10.0
"""For a receiver to answer."""
IDLE_SECONDS = 1.0
"""Between two looks for what is due."""
AT_ONCE = 8
DELIVERY_HEADER = "demur-delivery"


class Runs(Protocol):
    """What runs changes, as a ``Writer`` does."""

    async def run(self, change: Callable[[Connection, Place], T], *, seconds: float | None = None) -> T: ...

    async def read(self, query: Callable[[Connection], T]) -> T: ...


class Sender(Protocol):
    """Sends a body; the status and words of the answer."""

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]: ...


Compose = Callable[[Sequence[Delivery]], Awaitable[Sequence[bytes | None]]]
"""Bodies of deliveries; None: there is nothing to tell any more."""


class Webhooks:
    """Works the outbox off, in the background."""

    def __init__(
        self,
        writer: Runs,
        compose: Compose,
        secret: bytes,
        *,
        wall: Callable[[], float] = time.time,
        send: Sender | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """
        Args:
            wall: seconds since 1970.
        """
        self._writer = writer
        self._compose = compose
        self._secret = secret
        self._wall = wall
        self._send = send or post
        self._idle_seconds = idle_seconds
        self._wake = asyncio.Event()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._work())

    def wake(self) -> None:
        """Something may be due."""
        self._wake.set()

    async def stop(self) -> None:
        """What is under way is sent again by whoever comes next."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def round(self) -> int:
        """Sends what is due; how many."""
        if not await self._writer.read(lambda connection: is_due(connection, self._wall())):
            return 0
        due = await self._writer.run(lambda connection, place: take_due(connection, AT_ONCE, self._wall()))
        if not due:
            return 0
        bodies = await self._compose(due)
        sent = await asyncio.gather(*(self._deliver(one, body) for one, body in zip(due, bodies, strict=True)))
        await self._writer.run(lambda connection, place: settle(connection, sent, self._wall()))
        return len(due)

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            try:
                if await self.round():
                    continue
            except DemurError as error:  # the ledger is down; it says so itself
                _log.debug("deliveries wait: %s", error)
            except Exception:
                _log.exception("deliveries failed by a defect; they are tried again")
            try:
                await asyncio.wait_for(self._wake.wait(), self._idle_seconds)
            except TimeoutError:
                continue

    async def _deliver(self, one: Delivery, body: bytes | None) -> tuple[Delivery, int, str]:
        if body is None:
            return one, 410, "erased before it was delivered"
        headers = {
            "content-type": "application/json",
            DELIVERY_HEADER: one.id,
            HEADER: sign(self._secret, body, self._wall()),
        }
        loop = asyncio.get_running_loop()
        code, words = await loop.run_in_executor(self._threads, self._send, one.url, body, headers)
        if not 200 <= code < 300:
            _log.warning("delivery %s, attempt %d: %s", one.id, one.attempts + 1, words)
        return one, code, words


def post(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
    """Status and words of the answer; 0 where there was none. Redirects are not followed: they are not allowed ones."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection: http.client.HTTPConnection
    try:
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=TIMEOUT_SECONDS, context=context
            )
        else:
            connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("POST", path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, f"{answer.status} {answer.reason}"
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        return 0, f"{type(error).__name__}: {error}"
