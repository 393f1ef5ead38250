"""What passes by itself: leases that end, requests that expire, draws of the second phase, deliveries to be noted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from sqlalchemy import Connection, exists, select

from services.labels.desk import Desk
from services.labels.outbox import ASK_PIECE, release_waiting, tell_of_requests
from services.labels.sweeps import PIECE, draw_second_phase, end_leases, expire, lease_over
from services.labels.webhooks import Webhooks
from services.ledger.tables import delivery
from services.ledger.writer import Place
from services.runtime.errors import DemurError
from services.runtime.logging import get_logger

_log = get_logger(__name__)
LEASES_SECONDS = 2.0
REQUESTS_SECONDS = 60.0
"""Between two looks for what expires: it takes days."""


class Housekeeping:
    """Runs in the background beside a ``Desk``. Any number of processes may do it at the same time."""

    def __init__(self, desk: Desk, *, webhooks: Webhooks | None = None, request_webhook: str = "") -> None:
        self._desk = desk
        self._webhooks = webhooks
        self._request_webhook = request_webhook
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._every(LEASES_SECONDS, self.soon)),
            asyncio.create_task(self._every(REQUESTS_SECONDS, self.seldom)),
        ]
        if self._webhooks is not None:
            self._webhooks.start()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._webhooks is not None:
            await self._webhooks.stop()
        self._desk.resolver.close()

    async def soon(self) -> None:
        """Ends leases, lets go of what waits for labels that are there, tells of new requests."""
        feed, now = await self._desk.feed(), self._desk.clock()
        if await self._desk.book.read(lambda connection: _lease_over(connection, now)):
            await self._in_pieces(lambda connection, place: end_leases(connection, place, now), PIECE)
        if self._webhooks is None:
            return
        released = 0
        if await self._desk.book.read(_anything_waits):
            released = await self._desk.book.run(lambda connection, place: release_waiting(connection, now))
        if url := self._request_webhook:
            key = feed.ids.key
            released += await self._in_pieces(
                lambda connection, place: tell_of_requests(connection, place, key, url, now), ASK_PIECE
            )
        if released:
            self._webhooks.wake()

    async def seldom(self) -> None:
        """Expires requests, then draws from what was not answered."""
        feed, now = await self._desk.feed(), self._desk.clock()
        ended = await self._in_pieces(
            lambda connection, place: expire(connection, place, feed.request_seconds, now), PIECE
        )
        if ended:
            self._desk.resolver.changed()
        key, share = feed.ids.key, self._desk.options.second_phase
        await self._in_pieces(lambda connection, place: draw_second_phase(connection, place, key, share, now), PIECE)

    async def _in_pieces(self, change: Callable[[Connection, Place], int], piece: int) -> int:
        """Until less than a piece is left; other changes pass between them."""
        total = 0
        while True:
            done = await self._desk.book.run(change)
            total += done
            if done < piece:
                return total

    async def _every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await work()
            except DemurError as error:  # the ledger is down; it says so itself
                _log.debug("housekeeping waits: %s", error)
            except Exception:
                _log.exception("housekeeping failed by a defect; it goes on")
            await asyncio.sleep(seconds)


def _lease_over(connection: Connection, now: float) -> bool:
    return bool(connection.scalar(select(exists().where(lease_over(now)))))


def _anything_waits(connection: Connection) -> bool:
    return bool(connection.scalar(select(exists().where(delivery.c.state == "waiting"))))
