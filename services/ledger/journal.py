"""Journal: a local file that holds decided units until they are in the database (``journal_flusher``).

One write per portion, no wait for the disk: what was written survives the death of the process, because the operating
system holds it. The file is a head and frames (length, checksum, content); a frame that a kill cut short ends it.
Places in the journal count all bytes that were ever appended, so that the file can be emptied once they are in the
database. How far that is stands in the row of its writer and changes in the same transactions, which also write the
items of deferred and audited units.

The head is written in place, which needs no room on a full disk: it also tells of units that could not be recorded.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.ledger.gap_log import Lost

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
        if os.pwrite(self._file, frames, self._size) < len(frames):
            os.ftruncate(self._file, self._size)  # or a recovery would read those that are whole
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
