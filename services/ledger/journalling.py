"""The journal in use: answered units go in at once, and from there into segments, in the background."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from services.ledger.decided import Decided, frame
from services.ledger.items import Parts
from services.ledger.journal import Identity, Journal
from services.ledger.outstanding import Outstanding
from services.ledger.recovery import move
from services.ledger.writer import Place, Writer
from services.runtime.logging import get_logger

_log = get_logger(__name__)
EMPTY_BYTES = 1 << 20
"""A journal that is in segments is emptied from this size on."""


@dataclass(eq=False)
class _Early:
    """Stands in ``Outstanding`` for the frames since the last move."""


class Journalling:
    """One process's journal between its event loop and its writer's thread."""

    def __init__(self, outstanding: Outstanding, parts: Parts) -> None:
        self.journal: Journal | None = None
        """None where none can be written: every answer waits for its commit then."""
        self._outstanding = outstanding
        self._parts = parts
        self._early: _Early | None = None
        self._captured: _Early | None = None
        self._moved = 0

    @property
    def nbytes(self) -> int:
        """Size of the file without its head."""
        return 0 if self.journal is None else self.journal.nbytes

    def open(self, directory: Path, writer: Writer, most_bytes: int) -> None:
        """Makes the journal, if the disk lets it."""
        identity = Identity(writer.epoch, writer.secret, writer.ledger)
        try:
            self.journal = Journal.create(directory, writer.task, identity, most_bytes)
        except OSError as error:
            _log.error("no journal can be written in %s (%s): every answer waits for its commit", directory, error)

    def append(self, decided: list[Decided]) -> bool:
        """Writes units without items; False where the journal takes nothing."""
        journal = self.journal
        if journal is None:
            return False
        with self._outstanding.lock:
            now = self._outstanding.clock()
            content = []
            for one in decided:
                one.time = now
                content.append(frame(one))
            try:
                journal.append(content)
            except OSError:
                return False
            if self._early is None:
                self._early = _Early()
                self._outstanding.add(self._early, now)
        return True

    async def move(self, writer: Writer) -> None:
        """Moves all into segments; gives the room back when all is there.

        Raises:
            LedgerUnavailable: the database went away; the rest stays.
        """
        journal = self.journal
        if journal is None:
            return
        while self._moved != journal.end:
            try:
                before, self._moved = self._moved, await writer.settle(self._move)
            except BaseException:
                self._restore()
                raise
            if self._captured is not None:
                self._outstanding.remove(self._captured)
                self._captured = None
            if self._moved == before:
                raise OSError(f"{journal.path} cannot be read behind {before}")
        if journal.nbytes >= EMPTY_BYTES:
            journal.empty(self._moved)

    def reread(self) -> None:
        """Looks at all frames again: the database may have forgotten some. It knows itself which it has."""
        if self.journal is not None:
            self._moved = self.journal.base

    def close(self) -> None:
        """Deletes a journal that is in segments; another one is left for the next process."""
        if self.journal is None:
            return
        if self._moved == self.journal.end and self.journal.lost is None:
            self.journal.path.unlink(missing_ok=True)
        self.journal.close()

    def _move(self, connection: Connection, place: Place) -> int:
        """Runs in the writer's thread."""
        journal = self.journal
        assert journal is not None
        with self._outstanding.lock:
            self._captured, self._early = self._early, None
            end = journal.end
        reached = move(connection, place, journal, self._parts, self._outstanding.clock())
        if reached < end:
            self._restore()
        elif self._captured is not None:
            self._outstanding.written(self._captured, place)
        return reached

    def _restore(self) -> None:
        """Not all that was captured is in segments: it is outstanding again, since its first time."""
        with self._outstanding.lock:
            if self._captured is not None:
                if self._early is not None:
                    self._outstanding.remove(self._early)
                self._early, self._captured = self._captured, None
