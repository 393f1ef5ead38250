"""Takeover of journals that killed processes left: their units go into segments, exactly once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from services.ledger.contract import Place
from services.ledger.gap_log import write_gap
from services.ledger.items import Parts
from services.ledger.journal import SUFFIX, UNFINISHED, Journal
from services.ledger.journal_flusher import move
from services.ledger.tables import writer as writers
from services.ledger.writer import Writer
from services.runtime.logging import get_logger

_log = get_logger(__name__)


async def take_over(writer: Writer, directory: Path, clock: Callable[[], float]) -> int:
    """Take over the journals of dead processes of the writer's task and ledger; return how many.

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
            journal.path.with_suffix(UNFINISHED).unlink(missing_ok=True)
            taken += 1
        finally:
            journal.close()
    if taken:
        _log.info("took over what %d killed processes had answered", taken)
    return taken


def recover(connection: Connection, journal: Journal, clock: Callable[[], float], task: str) -> bool:
    """Write the next part of a dead process's journal under its own epoch; return True when all is written.

    A writer that has ended may have left some: its end came before all was moved, or the ledger is a restored one.
    """
    epoch, now = journal.identity.epoch, clock()
    rows = connection.execute(select(writers).where(writers.c.epoch == epoch).with_for_update()).mappings()
    row: Any = rows.one_or_none()
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
