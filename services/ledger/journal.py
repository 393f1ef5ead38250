"""Journal: a local file that holds decided units until they are in the database, and its flushing into the database.

One write per portion, no wait for the disk: what was written survives the death of the process, because the operating
system holds it. The file is a head and frames (length, checksum, content); a frame that a kill cut short ends it.
Places in the journal count all bytes that were ever appended, so that the file can be emptied once they are in the
database. How far that is stands in the row of its writer and changes in the same transactions, which also write the
items of deferred and audited units.

The head is written in place, which needs no room on a full disk: it also tells of units that could not be recorded.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select, text, update

from services.ledger.commit_queue import Watermark
from services.ledger.contract import Place
from services.ledger.decided import Decided, frame, unframe
from services.ledger.gap_log import Lost, write_gap
from services.ledger.items import Parts, write_items, write_segments
from services.ledger.tables import writer as writers
from services.ledger.writer import Writer
from services.policy.audit_draws import Draws
from services.runtime.logging import get_logger

_log = get_logger(__name__)
EMPTY_BYTES = 1 << 20
"""A journal whose frames are in the database is emptied from this size on."""
CUT_BYTES = 1 << 18
"""Most bytes of later frames that are copied when a journal in use is cut."""
MOVE_BYTES = 1 << 20
"""Part of a journal that goes into segments in one transaction."""
FORGOTTEN = "the database lost what it had confirmed"
_MAGIC = b"DEMURJ02"
_EARLIER = b"DEMURJ01"
"""Format of journals whose frames have no items."""
_HEAD = struct.Struct("<8sQ32s16sQddQI")
_FRAME = struct.Struct("<II")
HEAD_BYTES = 4096
_READ_BYTES = 1 << 18
SUFFIX = ".journal"
UNFINISHED = ".new"
"""Suffix of a file that becomes the journal once it is whole."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Writer and ledger of a journal."""

    epoch: int
    secret: bytes
    """The writer's; 32 bytes."""
    ledger: bytes
    """Digest of the ledger that the units belong to; 16 bytes."""


class Journal:
    """File of one process's journal. ``append`` and ``note_lost`` are for one thread, ``read`` for any."""

    def __init__(self, file: int, path: Path, identity: Identity, base: int, lost: Lost | None, most: int) -> None:
        self.identity = identity
        self.path = path
        self.lost = lost
        """Units that are not in the ledger, as noted in the head."""
        self._file = file
        self._base = base
        self._size = os.fstat(file).st_size
        self._most = most

    @classmethod
    def create(cls, directory: Path, name: str, identity: Identity, most_bytes: int) -> Journal:
        """Create a journal, locked by this process before others can see it.

        Raises:
            OSError: the directory cannot be written.
        """
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{name}-{identity.epoch:016x}{SUFFIX}"
        early = path.with_suffix(UNFINISHED)
        file = os.open(early, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(file, _packed(identity, 0, None).ljust(HEAD_BYTES, b"\0"))
            early.rename(path)
        except BaseException:
            os.close(file)
            early.unlink(missing_ok=True)
            raise
        return cls(file, path, identity, 0, None, most_bytes)

    @classmethod
    def take_over(cls, path: Path) -> Journal | None:
        """Open the journal of a dead process; None where it lives, or the file is not (or no longer) a journal.

        Raises:
            OSError: the file cannot be read.
        """
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            head = unpacked(os.pread(file, _HEAD.size, 0))
            gone = not path.exists() or path.stat().st_ino != os.fstat(file).st_ino  # another one was quicker
        except BlockingIOError:
            os.close(file)
            return None
        if head is None or gone:
            os.close(file)
            return None
        return cls(file, path, *head, most=0)

    @property
    def base(self) -> int:
        """Place of the first byte behind the head: everything before it was in segments once."""
        return self._base

    @property
    def end(self) -> int:
        """Place behind the last frame."""
        return self._base + self._size - HEAD_BYTES

    @property
    def nbytes(self) -> int:
        """Size of the frames in the file."""
        return self._size - HEAD_BYTES

    def append(self, contents: Sequence[bytes]) -> None:
        """Write frames of contents that are not empty, all of them or none.

        Raises:
            OSError: the disk is full or broken, or the journal holds as much as it may.
        """
        frames = b"".join([_FRAME.pack(len(content), zlib.crc32(content)) + content for content in contents])
        if self.nbytes + len(frames) > self._most:
            raise OSError(f"journal = {self.nbytes} bytes: must stay within {self._most} bytes")
        if os.pwrite(self._file, frames, self._size) < len(frames):  # the next frames are written over what it left
            raise OSError("the disk is full: frames were cut short")
        self._size += len(frames)

    def read(self, place: int, most_bytes: int) -> tuple[list[bytes], int]:
        """Return frames from a place on, at least one where there is one, and the place behind them."""
        place = max(place, self._base)
        contents, start = [], place
        for content in self._frames(place):
            contents.append(content)
            place += _FRAME.size + len(content)
            if place - start >= most_bytes:
                break
        return contents, place

    def empty(self, place: int) -> None:
        """Empty the file where all frames are in the database; ``place`` is how far they are.

        The file is cut first: a death in between leaves a head that counts too little of an empty journal.
        """
        if place != self.end or not self.nbytes:
            return
        os.ftruncate(self._file, HEAD_BYTES)
        self._base, self._size = place, HEAD_BYTES
        self._write_head()

    def cut(self, place: int) -> None:
        """Drop the frames before ``place``, which are in the database, while later ones are not yet.

        The later ones are copied to a new file, which replaces this one at once or, after a death in between, never.

        Raises:
            OSError: the disk is full or broken; the file is unchanged.
        """
        rest = os.pread(self._file, self._size, place - self._base + HEAD_BYTES)
        early = self.path.with_suffix(UNFINISHED)
        early.unlink(missing_ok=True)
        file = os.open(early, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = _packed(self.identity, place, self.lost).ljust(HEAD_BYTES, b"\0") + rest
            if os.write(file, content) < len(content):
                raise OSError("the disk is full: the journal could not be copied")
            early.rename(self.path)
        except BaseException:
            os.close(file)
            early.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._base, self._size = file, place, len(content)

    def note_lost(self, lost: Lost | None) -> None:
        """Note in the head which units are in no ledger; None once a gap row records them."""
        self.lost = lost
        self._write_head()

    def close(self) -> None:
        """Close the file, so that another process can take it over."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _frames(self, place: int) -> Iterator[bytes]:
        """Yield whole frames up to the end of the file, or to one that was cut short."""
        offset, stop = place - self._base + HEAD_BYTES, self._size
        buffer, start = b"", 0
        while offset + _FRAME.size <= stop:
            buffer, start = self._held(buffer, start, offset, _FRAME.size)
            length, checksum = _FRAME.unpack_from(buffer, start)
            needed = _FRAME.size + length
            if not length or offset + needed > stop:  # zeros are what a power failure may leave behind the last frame
                return
            buffer, start = self._held(buffer, start, offset, needed)
            content = buffer[start + _FRAME.size : start + needed]
            if zlib.crc32(content) != checksum:
                return
            start += needed
            offset += needed
            yield content

    def _held(self, buffer: bytes, start: int, offset: int, needed: int) -> tuple[bytes, int]:
        """Return a buffer that holds so many bytes of the file from an offset on, and where they begin in it."""
        if len(buffer) - start >= needed:
            return buffer, start
        return os.pread(self._file, max(needed, _READ_BYTES), offset), 0

    def _write_head(self) -> None:
        os.pwrite(self._file, _packed(self.identity, self._base, self.lost), 0)


def _packed(identity: Identity, base: int, lost: Lost | None) -> bytes:
    gap = lost or Lost(0.0, 0.0, 0)
    values = (_MAGIC, identity.epoch, identity.secret, identity.ledger, base, gap.from_time, gap.to_time, gap.units)
    unsigned = _HEAD.pack(*values, 0)[:-4]
    return _HEAD.pack(*values, zlib.crc32(unsigned))


def unpacked(head: bytes) -> tuple[Identity, int, Lost | None] | None:
    """Return the identity in a head, the place of the first byte, and what was lost; None where it is not a head."""
    if len(head) < _HEAD.size:
        return None
    magic, epoch, secret, ledger, base, from_time, to_time, units, checksum = _HEAD.unpack_from(head)
    if magic not in (_MAGIC, _EARLIER) or zlib.crc32(head[: _HEAD.size - 4]) != checksum:
        return None
    return Identity(epoch, secret, ledger), base, Lost(from_time, to_time, units) if units else None


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
        self._moved = 0
        self._turn = asyncio.Lock()

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
            LedgerUnavailable: the database went away; the rest stays.
        """
        journal = self.journal
        if journal is None:
            return
        end = journal.end
        while self._moved < end:
            async with self._turn:
                if self._moved < end:
                    await self._move_next(journal, writer)
        if self._moved - journal.base >= EMPTY_BYTES:
            self._drop(journal)

    def forget(self) -> None:
        """Drop moved frames, however few: they may hold inputs that have been erased."""
        if self.journal is not None and self._moved > self.journal.base:
            self._drop(self.journal)

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
            raise OSError(f"{journal.path} cannot be read behind {before}")

    def _drop(self, journal: Journal) -> None:
        """Drop what is moved from the file, unless a move is under way, which reads the file in its thread."""
        if self._turn.locked():
            return
        with self._watermark.lock, suppress(OSError):  # on a full disk the file stays as it is
            if self._moved == journal.end:
                journal.empty(self._moved)
            elif journal.end - self._moved <= CUT_BYTES:
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
