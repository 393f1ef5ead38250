"""Webhooks: signed deliveries, repeated until the receiver acknowledges them (at least once).

A delivery's id is its idempotency key: after a restart, or a lost acknowledgement, it is sent again.
"""

import asyncio
import hashlib
import hmac
import http.client
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol
from urllib.parse import urlsplit

from services.labels.outbox import Delivery, is_due, settle, take_due
from services.ledger.contract import LedgerWriter
from services.runtime.errors import DemurError
from services.runtime.logging import get_logger

_log = get_logger(__name__)
TIMEOUT_SECONDS = 10.0
"""Timeout of a receiver's response."""
IDLE_SECONDS = 1.0
"""Between two queries for due deliveries."""
AT_ONCE = 8
DELIVERY_HEADER = "demur-delivery"
SIGNATURE_HEADER = "demur-signature"


class Sender(Protocol):
    """Function that sends a body and returns the status and reason of the response."""

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]: ...


Compose = Callable[[Sequence[Delivery]], Awaitable[Sequence[bytes | None]]]
"""Return bodies of deliveries; None: there is nothing to deliver any more."""


class Webhooks:
    """Background sender of the outbox."""

    def __init__(
        self,
        writer: LedgerWriter,
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
        """Look for due deliveries now."""
        self._wake.set()

    async def stop(self) -> None:
        """Stop; deliveries under way are sent again by the next process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def round(self) -> int:
        """Send what is due; return how many."""
        if not await self._writer.read(lambda connection: is_due(connection, self._wall())):
            return 0
        due = await self._writer.run(lambda connection, place: take_due(connection, AT_ONCE, self._wall()))
        if not due:
            return 0
        bodies = await self._compose(due)
        sent = await asyncio.gather(
            *(self._deliver(delivery, body) for delivery, body in zip(due, bodies, strict=True))
        )
        await self._writer.run(lambda connection, place: settle(connection, sent, self._wall()))
        return len(due)

    async def _work(self) -> None:
        while True:
            self._wake.clear()
            try:
                if await self.round():
                    continue
            except DemurError as error:  # the ledger is down, and logs that itself
                _log.debug("deliveries wait: %s", error)
            except Exception:
                _log.exception("deliveries failed by a defect; they are tried again")
            try:
                await asyncio.wait_for(self._wake.wait(), self._idle_seconds)
            except TimeoutError:
                continue

    async def _deliver(self, delivery: Delivery, body: bytes | None) -> tuple[Delivery, int, str]:
        if body is None:
            return delivery, 410, "erased before it was delivered"
        headers = {
            "content-type": "application/json",
            DELIVERY_HEADER: delivery.id,
            SIGNATURE_HEADER: sign(self._secret, body, self._wall()),
        }
        loop = asyncio.get_running_loop()
        code, reason = await loop.run_in_executor(self._threads, self._send, delivery.url, body, headers)
        if not 200 <= code < 300:
            _log.warning("delivery %s, attempt %d: %s", delivery.id, delivery.attempts + 1, reason)
        return delivery, code, reason


def post(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
    """Return status and reason of the response; 0 where there was none.

    Redirects are not followed: their targets may not be allowed.
    """
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
            response = connection.getresponse()
            return response.status, f"{response.status} {response.reason}"
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        return 0, f"{type(error).__name__}: {error}"


def sign(secret: bytes, body: bytes, time: float) -> str:
    """Return the signature header ``t=SECONDS,v1=HEX``: HMAC-SHA256 over ``SECONDS.BODY``.

    The time is signed, too, so that an old delivery cannot be replayed as a new one.
    """
    moment = f"{int(time)}"
    digest = hmac.new(secret, moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"
