"""Periodic jobs: end leases, expire requests, draw second-phase audits, add deliveries."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

from sqlalchemy import Connection, exists, func, select

from services.labels.opinion_comparison import PIECE as OPINIONS_PIECE
from services.labels.opinion_comparison import anything_uncompared
from services.labels.outbox import ASK_PIECE, release_waiting, tell_of_requests
from services.labels.request_expiry import CLAIMED, PIECE, draw_second_phase, end_leases, expire
from services.labels.service import LabelService
from services.labels.webhooks import Webhooks
from services.ledger.contract import Place
from services.ledger.tables import delivery, item, opinion
from services.runtime.errors import DemurError
from services.runtime.logging import get_logger

_log = get_logger(__name__)
LEASES_SECONDS = 2.0
REQUESTS_SECONDS = 60.0
"""Between two rounds of expiry, which takes days."""


class PeriodicJobs:
    """Background jobs of a ``LabelService``; any number of processes may run them at the same time."""

    def __init__(
        self,
        service: LabelService,
        *,
        webhooks: Webhooks | None = None,
        request_webhook: str = "",
        version: Callable[[], int | None] = lambda: None,
    ) -> None:
        """Initialise without starting.

        Args:
            version: number that grows with every change of the ledger; None where other processes change it, too. There
                is nothing to do while it stays the same and no lease ends.
        """
        self._service = service
        self._version = version
        self._quiet: tuple[int | None, float] = (None, 0.0)
        """Version at which nothing was to be done, and the time of the next end of a lease, seconds since 1970."""
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
        """End leases, compare opinions, release deliveries whose labels have arrived, and announce new requests."""
        version, now = self._version(), self._service.clock()
        if version is not None and version == self._quiet[0] and now < self._quiet[1]:
            return
        queues = await self._service.reviews.queues()
        next_end, uncompared = await self._service.ledger.read(lambda c: (_next_end(c), anything_uncompared(c)))
        if next_end < now:
            await self._in_pieces(lambda connection, place: end_leases(connection, place, now), PIECE)
        if uncompared:
            await self._compare_opinions()
        if self._webhooks is None:
            self._quiet = (version, next_end)
            return
        released = 0
        if waits := await self._service.ledger.read(_anything_waits):
            released = await self._service.ledger.run(lambda connection, place: release_waiting(connection, now))
        if url := self._request_webhook:
            key = queues.ids.key
            released += await self._in_pieces(
                lambda connection, place: tell_of_requests(connection, place, key, url, now), ASK_PIECE
            )
        if released:
            self._webhooks.wake()
        elif not waits:
            self._quiet = (version, next_end)

    async def _compare_opinions(self) -> None:
        while await self._service.reviews.compare_opinions() == OPINIONS_PIECE:
            pass

    async def expire_and_redraw(self) -> None:
        """Expire requests, then draw from the unanswered ones."""
        queue, now = (await self._service.reviews.queues()).queue, self._service.clock()
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


def _next_end(connection: Connection) -> float:
    """Return the end of the lease that ends first, seconds since 1970; infinite without leases."""
    of_opinions = select(func.min(opinion.c.lease_until)).where(opinion.c.state == "claimed")
    ends = [connection.scalar(select(func.min(item.c.lease_until)).where(CLAIMED)), connection.scalar(of_opinions)]
    return min((end for end in ends if end is not None), default=math.inf)


def _anything_waits(connection: Connection) -> bool:
    return bool(connection.scalar(select(exists().where(delivery.c.state == "waiting"))))
