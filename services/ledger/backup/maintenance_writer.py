"""Maintenance writer: changes a ledger while its services are stopped, as one more writer that readers follow.

After a restore it records what is lost. Everything that a writer decided before its last heartbeat is in the ledger;
later decisions are not, and their number is unknown: they become a gap from then until now, so that windows that touch
it are invalid, never wrong. The gap is a row of a new writer, so that every reader sees it.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, Engine, insert, select, update

from services.ledger.backup.archive import BadBackup
from services.ledger.contract import Place
from services.ledger.gap_log import Lost, write_gap
from services.ledger.tables import writer as writers

T = TypeVar("T")
_WATCHED_SECONDS = 3.0
"""The heartbeat of an active writer moves every second."""


@dataclass(frozen=True)
class OpenWriter:
    """Writer that has not ended."""

    epoch: int
    task: str
    heartbeat: float


@dataclass(frozen=True)
class Loss:
    """Gap that was written for a task."""

    task: str
    start: float
    end: float


class MaintenanceWriter:
    """``LedgerWriter`` for maintenance. Nobody else may write meanwhile."""

    def __init__(self, engine: Engine, clock: Callable[[], float], forget: Callable[[], None]) -> None:
        """``forget`` empties the database's write-ahead log."""
        self._engine = engine
        self._clock = clock
        self._forget = forget
        self._epoch = secrets.randbits(63)
        self._flush = 0

    def change(self, change: Callable[[Connection, Place], T]) -> T:
        """Run a change as one flush, which is committed on return."""
        with self._engine.begin() as connection:
            now, place = self._clock(), Place(self._epoch, self._flush + 1)
            if self._flush == 0:
                connection.execute(insert(writers).values(_row(self._epoch, "", now)))
            result = change(connection, place)
            values = {"flush": place.flush, "heartbeat": now, "ended": now}
            connection.execute(update(writers).where(writers.c.epoch == self._epoch).values(values))
        self._flush = place.flush
        return result

    async def run(self, change: Callable[[Connection, Place], T], *, seconds: float | None = None) -> T:
        return self.change(change)

    async def read(self, query: Callable[[Connection], T]) -> T:
        with self._engine.connect() as connection, connection.begin():
            return query(connection)

    async def forget(self) -> None:
        self._forget()


def open_writers(connection: Connection) -> list[OpenWriter]:
    """Return the writers that have not ended."""
    rows = connection.execute(select(writers).where(writers.c.ended.is_(None)).order_by(writers.c.heartbeat))
    return [OpenWriter(row.epoch, row.task, row.heartbeat) for row in rows]


def close_writers(
    connection: Connection, unfinished: list[OpenWriter], *, since: float | None, now: float, reason: str
) -> tuple[Loss, ...]:
    """End all writers, and write a gap for each task from where the ledger is no longer complete until now.

    Args:
        unfinished: writers that may have decided more than the ledger has.
        since: latest time of the state of the ledger, seconds since 1970; None: the last heartbeat.
    """
    rows = connection.execute(select(writers.c.task, writers.c.heartbeat)).all()
    losses = []
    for task in sorted({row.task for row in rows if row.task}):
        last = max(row.heartbeat for row in rows if row.task == task) if since is None else since
        start = min([last, *(writer_row.heartbeat for writer_row in unfinished if writer_row.task == task)])
        losses.append(Loss(task, start, max(now, start)))
        epoch = secrets.randbits(63)  # a row of its own for each: a gap belongs to the task of its writer
        row = _row(epoch, task, now) | {"flush": 1, "ended": now}
        connection.execute(insert(writers).values(row))
        write_gap(connection, Place(epoch, 1), Lost(start, max(now, start), 0), reason)
    connection.execute(update(writers).where(writers.c.ended.is_(None)).values(ended=now))
    return tuple(losses)


def close_lost_writer(connection: Connection, epoch: int, *, until: float, now: float, reason: str) -> Loss:
    """End one writer whose journal is lost with its disk; write a gap for what it may have decided until its death.

    Raises:
        BadBackup: there is no such writer, or it has ended.
    """
    lost = next((writer for writer in open_writers(connection) if writer.epoch == epoch), None)
    if lost is None:
        raise BadBackup(f"writer = {epoch:016x}: must be an open writer; the monitor's /v1/live lists them")
    end = max(until, lost.heartbeat)
    connection.execute(update(writers).where(writers.c.epoch == epoch).values(ended=now))
    new = secrets.randbits(63)
    connection.execute(insert(writers).values(_row(new, lost.task, now) | {"flush": 1, "ended": now}))
    write_gap(connection, Place(new, 1), Lost(lost.heartbeat, end, 0), reason)
    return Loss(lost.task, lost.heartbeat, end)


def refuse_active_writers(read: Callable[[], list[OpenWriter]]) -> None:
    """Watch for a moment whether the ledger is being written.

    Raises:
        BadBackup: it is.
    """
    before = {writer.epoch: writer.heartbeat for writer in read()}
    if before:
        time.sleep(_WATCHED_SECONDS)
    active = [writer for writer in read() if before.get(writer.epoch) != writer.heartbeat]
    if active:
        raise BadBackup(
            f"{len(active)} processes write this ledger, such as {active[0].epoch:016x} of {active[0].task}: stop all "
            "services that use it first"
        )


def _row(epoch: int, task: str, now: float) -> dict[str, object]:
    row = {"epoch": epoch, "task": task, "host": "by hand", "pid": 0, "started": now, "flush": 0}
    return row | {"secret": secrets.token_bytes(32), "journal_end": 0, "heartbeat": now}
