"""Resolutions of units: the label that resolves a unit, or the state of its request. Fetched, awaited or watched."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select

from services.labels.label_precedence import Rank, rank
from services.labels.label_validation import Source
from services.labels.statements import of_units
from services.ledger.tables import OPEN, UNASKED, item
from services.ledger.tables import label as labels
from services.ledger.unit_ids import Unit

Status = Literal["resolved", "pending", "unresolved", "erased", "unknown"]
POLL_SECONDS = 0.5
"""Between two queries for labels that came through another process; those of this one are seen at once."""
READ_PIECE = 4096
"""Units of one query."""
_WORTH: dict[str, int] = {"requested": 1, "census": 0}
"""Precedence where a unit has labels of both sources."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Resolution of a unit."""

    unit: Unit
    status: Status
    """``pending``: the request is open, or a census is declared; ``unresolved``: it ended without a label, see
    ``state``; ``unknown``: not deferred, audited or under a census, and without a label."""
    state: str = ""
    """State of the request; empty where there is none."""
    head: str = ""
    value: bytes | None = None
    """Canonical label."""
    value_ref: str | None = None
    source: Source | None = None
    version: int = 0
    observed: float | None = None
    received: float = 0.0
    """Seconds since 1970."""

    @property
    def final(self) -> bool:
        """False while a label may still be expected."""
        return self.status != "pending"


def resolutions(connection: Connection, units: Sequence[Unit]) -> list[Resolution]:
    """Return the resolution of each unit, in their order, with a few statements however many there are."""
    by_unit: dict[Unit, Resolution] = {}
    for start in range(0, len(units), READ_PIECE):
        piece = set(units[start : start + READ_PIECE])
        for resolution in (*_requests(connection, piece), *_labelled(connection, piece)):
            _merge(by_unit, resolution)
    return [by_unit.get(unit, Resolution(unit, "unknown")) for unit in units]


def _requests(connection: Connection, units: Iterable[Unit]) -> list[Resolution]:
    columns = (item.c.epoch, item.c.sequence, item.c.head, item.c.state, item.c.erased)
    requests = []
    for condition in of_units(item, units):
        for row in connection.execute(select(*columns).where(condition)):
            state = "" if row.state == UNASKED else row.state
            status: Status = "pending" if row.state in (*OPEN, UNASKED) else "unresolved"
            if row.erased is not None:
                status = "erased"
            requests.append(Resolution((row.epoch, row.sequence), status, state, row.head))
    return requests


def _labelled(connection: Connection, units: Iterable[Unit]) -> list[Resolution]:
    """Return the label of each unit that takes precedence."""
    best: dict[Unit, tuple[tuple[int, Rank], Resolution]] = {}
    for condition in of_units(labels, units):
        query = select(labels).where(condition, labels.c.source.in_(_WORTH), labels.c.erased.is_(None))
        for row in connection.execute(query):
            unit = (row.epoch, row.sequence)
            worth = _WORTH[row.source], rank(row.version, row.observed, row.received, row.digest)
            if unit not in best or best[unit][0] < worth:
                values = (row.value, row.value_ref, row.source, row.version, row.observed, row.received)
                best[unit] = worth, Resolution(unit, "resolved", "", row.head, *values)
    return [resolution for _, resolution in best.values()]


def _merge(by_unit: dict[Unit, Resolution], new: Resolution) -> None:
    """Add a label to a request: the state is kept, and an erased unit stays erased."""
    before = by_unit.get(new.unit)
    if before is None:
        by_unit[new.unit] = new
    elif before.status != "erased":
        values = (new.head, new.value, new.value_ref, new.source, new.version, new.observed, new.received)
        by_unit[new.unit] = Resolution(new.unit, "resolved", before.state, *values)


Read = Callable[[Callable[[Connection], list[Resolution]]], Awaitable[list[Resolution]]]


class Resolver:
    """Source of resolutions, at once or when they are final; one poller serves all waiting calls."""

    def __init__(self, read: Read, *, poll_seconds: float = POLL_SECONDS) -> None:
        """
        Args:
            read: runs a query of the ledger, as ``LedgerWriter.read`` does.
        """
        self._read = read
        self._poll_seconds = poll_seconds
        self._waiting: dict[Unit, set[asyncio.Future[Resolution]]] = {}
        self._changed = asyncio.Event()
        self._poller: asyncio.Task[None] | None = None

    async def get(self, units: Sequence[Unit]) -> list[Resolution]:
        """Return the resolutions as they are now."""
        return await self._read(lambda connection: resolutions(connection, units))

    async def wait(self, units: Sequence[Unit], seconds: float) -> list[Resolution]:
        """Return the resolutions once none is pending, or after so many seconds."""
        current = {resolution.unit: resolution for resolution in await self.get(units)}
        pending = [resolution.unit for resolution in current.values() if not resolution.final]
        if pending and seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds), aclosing(self._arriving(pending)) as arriving:
                    async for resolution in arriving:
                        current[resolution.unit] = resolution
        return [current[unit] for unit in units]

    async def watch(self, units: Sequence[Unit]) -> AsyncGenerator[Resolution, None]:
        """Yield each unit's resolution once it is final; end when all are."""
        current = await self.get(units)
        for resolution in current:
            if resolution.final:
                yield resolution
        pending = [resolution.unit for resolution in current if not resolution.final]
        async with aclosing(self._arriving(pending)) as arriving:
            async for resolution in arriving:
                yield resolution

    def changed(self) -> None:
        """Note that something was labelled or ended in this process, so that waiting calls see it without delay."""
        self._changed.set()

    def close(self) -> None:
        """Stop the poller."""
        if self._poller is not None:
            self._poller.cancel()

    async def _arriving(self, units: Collection[Unit]) -> AsyncGenerator[Resolution, None]:
        loop = asyncio.get_running_loop()
        futures = {unit: loop.create_future() for unit in units}
        for unit, future in futures.items():
            self._waiting.setdefault(unit, set()).add(future)
        self._changed.set()  # for what came since the caller's query
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())
        try:
            left: set[asyncio.Future[Resolution]] = set(futures.values())
            while left:
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for unit, future in futures.items():
                waiting = self._waiting[unit]
                waiting.discard(future)
                if not waiting:
                    del self._waiting[unit]
                future.cancel()

    async def _poll(self) -> None:
        """Query while any call waits, on changes and periodically; a ledger that is down is queried again."""
        while self._waiting:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), self._poll_seconds)
            self._changed.clear()
            try:
                current = await self.get(list(self._waiting))
            except Exception:  # the next call reports it; waiting calls have deadlines of their own
                await asyncio.sleep(self._poll_seconds)
                continue
            for resolution in current:
                if resolution.final:
                    for future in self._waiting.get(resolution.unit, ()):
                        if not future.done():
                            future.set_result(resolution)
