"""A local file that holds answered units until they are in a segment: one write a portion, no wait for the disk.

What was written survives the death of the process, because the operating system holds it. The file is a head and frames
(length, checksum, content); a frame that a kill cut short ends it. Places in the journal count all bytes that were ever
appended, so that the file can be emptied once they are in segments.

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

_MAGIC = b"DEMURJ01"
_HEAD = struct.Struct("<8sQ32s16sQddQI")
_FRAME = struct.Struct("<II")
HEAD_BYTES = 4096
_READ_BYTES = 1 << 18
SUFFIX = ".journal"


@dataclass(frozen=True, slots=True)
class Lost:
    """Units that are not in the ledger, and when they were decided (seconds since 1970)."""

    from_time: float
    to_time: float
    units: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose journal it is."""

    epoch: int
    secret: bytes
    """Of the writer; 32 bytes."""
    ledger: bytes
    """Digest of the ledger that the units belong into; 16 bytes."""


class Journal:
    """One process's journal. ``append`` and ``note_lost`` are for one thread, ``read`` for any."""

    def __init__(self, file: int, path: Path, identity: Identity, base: int, lost: Lost | None, most: int) -> None:
        self.identity = identity
        self.path = path
        self.lost = lost
        """Units that are not in the ledger, as the head tells."""
        self._file = file
        self._base = base
        self._size = os.fstat(file).st_size
        self._most = most

    @classmethod
    def create(cls, directory: Path, name: str, identity: Identity, most_bytes: int) -> Journal:
        """A new journal, locked by this process before others can see it.

        Raises:
            OSError: the directory cannot be written.
        """
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{name}-{identity.epoch:016x}{SUFFIX}"
        early = path.with_suffix(".new")
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
        """The journal of a process that is dead; None where it lives, or the file is none (any more).

        Raises:
            OSError: the file cannot be read.
        """
        try:
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = unpacked(os.pread(file, _HEAD.size, 0))
            gone = not path.exists() or path.stat().st_ino != os.fstat(file).st_ino  # another one was quicker
        except BlockingIOError:
            os.close(file)
            return None
        if found is None or gone:
            os.close(file)
            return None
        return cls(file, path, *found, most=0)

    @property
    def base(self) -> int:
        """The place of the first byte behind the head: what is before it was in segments once."""
        return self._base

    @property
    def end(self) -> int:
        """The place behind the last frame."""
        return self._base + self._size - HEAD_BYTES

    @property
    def nbytes(self) -> int:
        """Size of the frames in the file."""
        return self._size - HEAD_BYTES

    def append(self, contents: Sequence[bytes]) -> None:
        """Writes frames of contents that are not empty, all of them or none.

        Raises:
            OSError: the disk is full or broken, or the journal holds as much as it may.
        """
        frames = b"".join([_FRAME.pack(len(content), zlib.crc32(content)) + content for content in contents])
        if self.nbytes + len(frames) > self._most:
            raise OSError(f"the journal holds {self.nbytes} bytes, {self._most} are allowed")
        if os.pwrite(self._file, frames, self._size) < len(frames):  # the next frames are written over what it left
            raise OSError("the disk is full: frames were cut short")
        self._size += len(frames)

    def read(self, place: int, most_bytes: int) -> tuple[list[bytes], int]:
        """Frames from a place on, at least one where there is one, and the place behind them."""
        place = max(place, self._base)
        found, start = [], place
        for content in self._frames(place):
            found.append(content)
            place += _FRAME.size + len(content)
            if place - start >= most_bytes:
                break
        return found, place

    def empty(self, place: int) -> None:
        """Gives room back where all frames are in segments; ``place`` is how far they are.

        The file is cut first: a death in between leaves a head that counts too little of an empty journal.
        """
        if place != self.end or not self.nbytes:
            return
        os.ftruncate(self._file, HEAD_BYTES)
        self._base, self._size = place, HEAD_BYTES
        self._write_head()

    def note_lost(self, lost: Lost | None) -> None:
        """Keeps in the head which units are in no ledger; None once a gap row tells."""
        self.lost = lost
        self._write_head()

    def close(self) -> None:
        """Lets another process take it over."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _frames(self, place: int) -> Iterator[bytes]:
        """Whole frames up to the end of the file, or to one that was cut short."""
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
        """A buffer that holds so many bytes of the file from an offset on, and where they begin in it."""
        if len(buffer) - start >= needed:
            return buffer, start
        return os.pread(self._file, max(needed, _READ_BYTES), offset), 0

    def _write_head(self) -> None:
        os.pwrite(self._file, _packed(self.identity, self._base, self.lost), 0)


def _packed(identity: Identity, base: int, lost: Lost | None) -> bytes:
    told = lost or Lost(0.0, 0.0, 0)
    values = (_MAGIC, identity.epoch, identity.secret, identity.ledger, base, told.from_time, told.to_time, told.units)
    unsigned = _HEAD.pack(*values, 0)[:-4]
    return _HEAD.pack(*values, zlib.crc32(unsigned))


def unpacked(head: bytes) -> tuple[Identity, int, Lost | None] | None:
    """Whose journal a head is of, the place of its first byte, and what was lost; None where it is none."""
    if len(head) < _HEAD.size:
        return None
    magic, epoch, secret, ledger, base, from_time, to_time, units, checksum = _HEAD.unpack_from(head)
    if magic != _MAGIC or zlib.crc32(head[: _HEAD.size - 4]) != checksum:
        return None
    return Identity(epoch, secret, ledger), base, Lost(from_time, to_time, units) if units else None
