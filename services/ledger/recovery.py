"""What lies in journals goes into segments, exactly once: of this process, and of those that were killed.

How far a journal is in segments stands in the row of its writer and changes in the same transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, text, update

from services.ledger.decided import unframe
from services.ledger.items import Parts, write_segments
from services.ledger.journal import SUFFIX, Journal, Lost
from services.ledger.lost import write_gap
from services.ledger.tables import writer as writers
from services.ledger.writer import Place, Writer
from services.runtime.logging import get_logger

_log = get_logger(__name__)
MOVE_BYTES = 1 << 20
"""Of a journal that go into segments in one transaction."""
FORGOTTEN = "the database lost what it had confirmed"


def move(connection: Connection, place: Place, journal: Journal, parts: Parts, now: float) -> int:
    """Writes the next frames of a journal as segments; how far it is in segments then.

    What the database lost in a crash of its own, and the journal does not hold any more, becomes a gap up to now.
    """
    row = connection.execute(select(writers).where(writers.c.epoch == place.writer)).mappings().one()
    start: int = row["journal_end"]
    if start < journal.base:
        write_gap(connection, place, Lost(row["heartbeat"], max(row["heartbeat"], now), 0), FORGOTTEN)
    frames, end = journal.read(start, MOVE_BYTES)
    if end == start:
        return end
    if connection.dialect.name == "postgresql":  # the journal is emptied then: this commit must outlive the server
        connection.execute(text("SET LOCAL synchronous_commit = on"))
    write_segments(connection, place, unframe(frames), parts)
    connection.execute(update(writers).where(writers.c.epoch == place.writer).values(journal_end=end))
    return end


async def take_over(writer: Writer, directory: Path, clock: Callable[[], float]) -> int:
    """Takes over the journals of dead processes of the writer's task and ledger; how many.

    Raises:
        LedgerUnavailable: the database went away; what was not taken over yet is left for another time.
    """
    taken = 0
    for path in sorted(directory.glob(f"{writer.task}-*{SUFFIX}")):
        journal = Journal.take_over(path)
        if journal is None:
            continue
        try:
            if journal.identity.ledger != writer.ledger:
                _log.warning("%s belongs to another ledger (DEMUR_LEDGER was another); it is left there", path)
                continue
            while not await writer.settle(lambda c, p, j=journal: recover(c, j, clock, writer.task)):  # type: ignore[misc]
                pass
            journal.path.unlink(missing_ok=True)
            taken += 1
        finally:
            journal.close()
    if taken:
        _log.info("took over what %d killed processes had answered", taken)
    return taken


def recover(connection: Connection, journal: Journal, clock: Callable[[], float], task: str) -> bool:
    """Writes the next part of a dead process's journal under its own epoch; True when all is written.

    A writer that has ended may have left some: its end came before all was moved, or the ledger is a restored one.
    """
    epoch, now = journal.identity.epoch, clock()
    found = connection.execute(select(writers).where(writers.c.epoch == epoch).with_for_update()).mappings()
    row: Any = found.one_or_none()
    if row is None:  # the database was down as long as that process lived
        values = {"epoch": epoch, "task": task, "host": "", "pid": 0, "started": now, "secret": journal.identity.secret}
        connection.execute(insert(writers).values(values | {"flush": 0, "journal_end": 0, "heartbeat": now}))
        row = {"flush": 0, "ended": None, "journal_end": 0}
    if row["ended"] is not None and row["journal_end"] >= journal.end and journal.lost is None:
        return True
    place = Place(epoch, row["flush"] + 1)
    end = move(connection, place, journal, Parts(), now)
    done = end in (row["journal_end"], journal.end)  # a frame that the kill cut short is never read
    values = {"flush": place.flush}
    if done:
        if journal.lost is not None:
            write_gap(connection, place, journal.lost, "not recorded by a process that was killed later")
        values |= {"ended": now, "heartbeat": now}
    connection.execute(update(writers).where(writers.c.epoch == epoch).values(values))
    return done
