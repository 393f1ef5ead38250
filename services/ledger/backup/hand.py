"""One who changes a ledger beside its services: one more writer, so that readers follow what it did.

After a restore it says what is lost. Everything that a writer decided before its last sign of life is in the ledger;
what came later is not, and nobody knows how much it was: a gap from then until now, so that windows which touch it are
invalid, never wrong. The gap is its own row of a writer that nobody has read before, whatever a reader held of the old
ledger.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, Engine, insert, select, update

from services.ledger.backup.archive import BadBackup
from services.ledger.changes import Place
from services.ledger.journal import Lost
from services.ledger.lost import write_gap
from services.ledger.tables import writer as writers

T = TypeVar("T")
_WATCHED_SECONDS = 3.0
"""A living writer's heartbeat moves every second."""


@dataclass(frozen=True)
class Open:
    """A writer of whose last moments the ledger knows nothing."""

    epoch: int
    task: str
    heartbeat: float


@dataclass(frozen=True)
class Loss:
    """What a task's windows are told."""

    task: str
    start: float
    end: float


class Hand:
    """Writes by hand; ``Erasure`` takes it for a writer. Nobody else writes meanwhile."""

    def __init__(self, engine: Engine, clock: Callable[[], float], forget: Callable[[], None]) -> None:
        """``forget`` empties what the database writes ahead."""
        self._engine = engine
        self._clock = clock
        self._forget = forget
        self._epoch = secrets.randbits(63)
        self._flush = 0

    def change(self, change: Callable[[Connection, Place], T]) -> T:
        """One flush, committed when this returns."""
        with self._engine.begin() as connection:
            now, place = self._clock(), Place(self._epoch, self._flush + 1)
            if self._flush == 0:
                connection.execute(insert(writers).values(_row(self._epoch, "", now)))
            found = change(connection, place)
            values = {"flush": place.flush, "heartbeat": now, "ended": now}
            connection.execute(update(writers).where(writers.c.epoch == self._epoch).values(values))
        self._flush = place.flush
        return found

    async def run(self, change: Callable[[Connection, Place], T], *, seconds: float | None = None) -> T:
        return self.change(change)

    async def read(self, query: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection, connection.begin():
            return query(connection)

    async def forget(self) -> None:
        self._forget()


def open_writers(connection: Connection) -> list[Open]:
    """Writers that have not ended."""
    rows = connection.execute(select(writers).where(writers.c.ended.is_(None)).order_by(writers.c.heartbeat))
    return [Open(row.epoch, row.task, row.heartbeat) for row in rows]


def settle(
    connection: Connection, unfinished: list[Open], *, since: float | None, now: float, reason: str
) -> tuple[Loss, ...]:
    """Ends all writers, and writes a gap for each task from where the ledger ceases to be complete until now.

    Args:
        unfinished: writers that may have decided more than the ledger has.
        since: when the state of the ledger was taken at the latest, seconds since 1970; None: the last heartbeat.
    """
    rows = connection.execute(select(writers.c.task, writers.c.heartbeat)).all()
    losses = []
    for task in sorted({row.task for row in rows if row.task}):
        last = max(row.heartbeat for row in rows if row.task == task) if since is None else since
        start = min([last, *(one.heartbeat for one in unfinished if one.task == task)])
        losses.append(Loss(task, start, max(now, start)))
        epoch = secrets.randbits(63)  # a row of its own for each: a gap belongs to the task of its writer
        row = _row(epoch, task, now) | {"flush": 1, "ended": now}
        connection.execute(insert(writers).values(row))
        write_gap(connection, Place(epoch, 1), Lost(start, max(now, start), 0), reason)
    connection.execute(update(writers).where(writers.c.ended.is_(None)).values(ended=now))
    return tuple(losses)


def bury(connection: Connection, epoch: int, *, until: float, now: float, reason: str) -> Loss:
    """Ends one writer whose journal is lost with its disk; a gap tells of what it may have decided until its death.

    Raises:
        BadBackup: there is no such writer, or it has ended.
    """
    found = [one for one in open_writers(connection) if one.epoch == epoch]
    if not found:
        raise BadBackup(f"no process {epoch:016x} is waited for; the monitor's /v1/live names those that are")
    (one,) = found
    end = max(until, one.heartbeat)
    connection.execute(update(writers).where(writers.c.epoch == epoch).values(ended=now))
    new = secrets.randbits(63)
    connection.execute(insert(writers).values(_row(new, one.task, now) | {"flush": 1, "ended": now}))
    write_gap(connection, Place(new, 1), Lost(one.heartbeat, end, 0), reason)
    return Loss(one.task, one.heartbeat, end)


def refuse_living(read: Callable[[], list[Open]]) -> None:
    """Looks for a while whether somebody writes the ledger.

    Raises:
        BadBackup: a writer's heart beats.
    """
    before = {one.epoch: one.heartbeat for one in read()}
    if before:
        time.sleep(_WATCHED_SECONDS)
    living = [one for one in read() if before.get(one.epoch) != one.heartbeat]
    if living:
        raise BadBackup(
            f"{len(living)} processes write this ledger, such as {living[0].epoch:016x} of {living[0].task}: stop all "
            "services that use it first"
        )


def _row(epoch: int, task: str, now: float) -> dict[str, object]:
    row = {"epoch": epoch, "task": task, "host": "by hand", "pid": 0, "started": now, "flush": 0}
    return row | {"secret": secrets.token_bytes(32), "journal_end": 0, "heartbeat": now}
