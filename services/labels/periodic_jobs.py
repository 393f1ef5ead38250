"""Periodic jobs: end leases, expire requests, draw second-phase audits, add deliveries."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from sqlalchemy import Connection, exists, select

from services.labels.outbox import ASK_PIECE, release_waiting, tell_of_requests
from services.labels.request_expiry import PIECE, draw_second_phase, end_leases, expire, lease_over
from services.labels.service import LabelService
from services.labels.webhooks import Webhooks
from services.ledger.contract import Place
from services.ledger.tables import delivery
from services.runtime.errors import DemurError
from services.runtime.logging import get_logger

_log = get_logger(__name__)
LEASES_SECONDS = 2.0
REQUESTS_SECONDS = 60.0
"""Between two rounds of expiry, which takes days."""


class PeriodicJobs:
    """Background jobs of a ``LabelService``; any number of processes may run them at the same time."""

    def __init__(self, service: LabelService, *, webhooks: Webhooks | None = None, request_webhook: str = "") -> None:
        self._service = service
        self._webhooks = webhooks
        self._request_webhook = request_webhook
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._every(LEASES_SECONDS, self.end_leases_and_notify)),
            asyncio.create_task(self._every(REQUESTS_SECONDS, self.expire_and_redraw)),
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
        self._service.resolver.close()

    async def end_leases_and_notify(self) -> None:
        """End leases, release deliveries whose labels have arrived, and announce new requests."""
        queue, now = await self._service.review_queue(), self._service.clock()
        if await self._service.ledger.read(lambda connection: _lease_over(connection, now)):
            await self._in_pieces(lambda connection, place: end_leases(connection, place, now), PIECE)
        if self._webhooks is None:
            return
        released = 0
        if await self._service.ledger.read(_anything_waits):
            released = await self._service.ledger.run(lambda connection, place: release_waiting(connection, now))
        if url := self._request_webhook:
            key = queue.ids.key
            released += await self._in_pieces(
                lambda connection, place: tell_of_requests(connection, place, key, url, now), ASK_PIECE
            )
        if released:
            self._webhooks.wake()

    async def expire_and_redraw(self) -> None:
        """Expire requests, then draw from the unanswered ones."""
        queue, now = await self._service.review_queue(), self._service.clock()
        ended = await self._in_pieces(
            lambda connection, place: expire(connection, place, queue.request_seconds, now), PIECE
        )
        if ended:
            self._service.resolver.changed()
        key, share = queue.ids.key, self._service.options.second_phase
        await self._in_pieces(lambda connection, place: draw_second_phase(connection, place, key, share, now), PIECE)

    async def _in_pieces(self, change: Callable[[Connection, Place], int], piece: int) -> int:
        """Repeat a change until less than a piece is left; other changes get their turn between."""
        total = 0
        while True:
            done = await self._service.ledger.run(change)
            total += done
            if done < piece:
                return total

    async def _every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await work()
            except DemurError as error:  # the ledger is down, and logs that itself
                _log.debug("periodic jobs wait: %s", error)
            except Exception:
                _log.exception("a periodic job failed by a defect; it is tried again")
            await asyncio.sleep(seconds)


def _lease_over(connection: Connection, now: float) -> bool:
    return bool(connection.scalar(select(exists().where(lease_over(now)))))


def _anything_waits(connection: Connection) -> bool:
    return bool(connection.scalar(select(exists().where(delivery.c.state == "waiting"))))
