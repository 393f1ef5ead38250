"""Flushing of the journal into the database in bulk: answered units as segments, deferred and audited ones as items."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select, text, update

from services.ledger.commit_queue import Watermark
from services.ledger.contract import Place
from services.ledger.decided import Decided, frame, unframe
from services.ledger.gap_log import Lost, write_gap
from services.ledger.items import Parts, write_items, write_segments
from services.ledger.journal import Identity, Journal
from services.ledger.tables import writer as writers
from services.ledger.writer import Writer
from services.policy.audit_draws import Draws
from services.runtime.errors import LedgerUnavailable
from services.runtime.logging import get_logger

_log = get_logger(__name__)
EMPTY_BYTES = 1 << 20
"""A journal whose frames are in the database is emptied from this size on."""
CUT_BYTES = 1 << 18
"""Most bytes of later frames that are copied when a journal in use is cut."""
ERASED_CUT_BYTES = 1 << 23
"""The same while frames before them may hold erased inputs."""
MOVE_BYTES = 1 << 20
"""Part of a journal that goes into segments in one transaction."""
FORGOTTEN = "the database lost what it had confirmed"


def move(connection: Connection, place: Place, journal: Journal, parts: Parts, now: float) -> int:
    """Write the next frames of a journal as segments and items; return how far it is in the database then.

    What the database lost in a crash of its own, and the journal no longer holds, becomes a gap up to now.
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
    runs, itemised = unframe(frames)
    write_segments(connection, place, runs, parts)
    write_items(connection, place, itemised, Draws(journal.identity.secret, journal.identity.epoch))
    connection.execute(update(writers).where(writers.c.epoch == place.writer).values(journal_end=end))
    return end


@dataclass(eq=False)
class _Early:
    """Token in the ``Watermark`` for the frames since the last move."""


class JournalFlusher:
    """Journal in use: takes units on the event loop and moves them into the database in the writer's thread."""

    def __init__(self, watermark: Watermark, parts: Parts) -> None:
        self.journal: Journal | None = None
        """None where none can be written: every answer then waits for its commit."""
        self._watermark = watermark
        self._parts = parts
        self._early: _Early | None = None
        self._captured: _Early | None = None
        self._moved = self._erased = 0
        self._moving: asyncio.Task[None] | None = None
        """Move under way. It goes on if those who wait for it are cancelled: the writer's thread works on it."""

    @property
    def nbytes(self) -> int:
        """Size of the file without its head, bytes."""
        return 0 if self.journal is None else self.journal.nbytes

    def note_lost(self, lost: Lost | None) -> None:
        """Note in the journal's head which units are in no ledger."""
        if self.journal is not None:
            self.journal.note_lost(lost)

    def open(self, directory: Path, writer: Writer, most_bytes: int) -> None:
        """Create the journal, if the disk allows it."""
        identity = Identity(writer.epoch, writer.secret, writer.ledger)
        try:
            self.journal = Journal.create(directory, writer.task, identity, most_bytes)
        except OSError as error:
            _log.error("no journal can be written in %s (%s): every answer waits for its commit", directory, error)

    def append(self, decided: list[Decided]) -> bool:
        """Write units, with the contents of their items; return False where the journal takes nothing."""
        journal = self.journal
        if journal is None:
            return False
        with self._watermark.lock:
            now = self._watermark.clock()
            content = []
            for part in decided:
                part.time = now
                content.append(frame(part))
            try:
                journal.append(content)
            except OSError:
                return False
            if self._early is None:
                self._early = _Early()
                self._watermark.add(self._early, now)
        return True

    async def move(self, writer: Writer) -> None:
        """Move all frames that are in the journal now into the database, and drop them from the file.

        Later frames wait for the next call: under load one flush takes what many calls have written.

        Raises:
            LedgerUnavailable: the database went away, or the file is damaged; the rest stays.
        """
        journal = self.journal
        if journal is None:
            return
        end = journal.end
        while self._moved < end:
            if self._moving is None or self._moving.done():  # awaiting one that ended would not give up the turn
                self._moving = asyncio.create_task(self._move_next(journal, writer))
                self._moving.add_done_callback(self._move_ended)
            await asyncio.shield(self._moving)
        if self._moved - journal.base >= EMPTY_BYTES:
            self._drop(journal)

    async def forget(self) -> None:
        """Drop moved frames, however few: they may hold inputs that have been erased.

        Where that fails now (a full disk, or too much was written meanwhile), it is tried again after each move.
        """
        self._erased = self._moved
        if not self._drop_erased() and self._moving is not None:
            await asyncio.wait([self._moving])

    def _drop_erased(self) -> bool:
        """Drop frames that may hold erased inputs; return whether none is left."""
        journal = self.journal
        if journal is None or journal.base >= self._erased:
            return True
        self._drop(journal, ERASED_CUT_BYTES)
        return journal.base >= self._erased

    def _move_ended(self, move: asyncio.Task[None]) -> None:
        if self._moving is move:  # the next may have begun, since this runs a turn after the end
            self._moving = None
        self._drop_erased()
        if not move.cancelled():
            move.exception()  # raised to those who wait; there may be none any more

    async def _move_next(self, journal: Journal, writer: Writer) -> None:
        try:
            before, self._moved = self._moved, await writer.settle(self._move)
        except BaseException:
            self._restore()
            raise
        if self._captured is not None:
            self._watermark.remove(self._captured)
            self._captured = None
        if self._moved == before:
            raise LedgerUnavailable(
                f"the journal {journal.path} is damaged behind byte {before}: what follows is not in the ledger; start "
                "the service again: it recovers what is before, and goes on with a new journal",
                code="ledger_unavailable",
            )

    def _drop(self, journal: Journal, most_bytes: int = CUT_BYTES) -> None:
        """Drop what is moved from the file, unless a move is under way, which reads the file in its thread."""
        if self._moving is not None and not self._moving.done():
            return
        with self._watermark.lock, suppress(OSError):  # on a full disk the file stays as it is
            if self._moved == journal.end:
                journal.empty(self._moved)
            elif journal.end - self._moved <= most_bytes:
                journal.cut(self._moved)

    def reread(self) -> None:
        """Move all frames again: the database may have lost some, and knows which it has."""
        if self.journal is not None:
            self._moved = self.journal.base

    def close(self) -> None:
        """Delete a journal that is in segments; leave another one for the next process."""
        if self.journal is None:
            return
        if self._moved == self.journal.end and self.journal.lost is None:
            self.journal.path.unlink(missing_ok=True)
        self.journal.close()

    def _move(self, connection: Connection, place: Place) -> int:
        """Move the next frames; runs in the writer's thread."""
        journal = self.journal
        assert journal is not None
        with self._watermark.lock:
            self._captured, self._early = self._early, None
            end = journal.end
        reached = move(connection, place, journal, self._parts, self._watermark.clock())
        if reached < end:
            self._restore()
        elif self._captured is not None:
            self._watermark.written(self._captured, place)
        return reached

    def _restore(self) -> None:
        """Count what was captured as on its way again, since its first time: not all of it is in segments."""
        with self._watermark.lock:
            if self._captured is not None:
                if self._early is not None:
                    self._watermark.remove(self._early)
                self._early, self._captured = self._captured, None
