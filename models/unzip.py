"""Bounded reader of bytes that may be gzipped.

It never unpacks more bytes than requested: a few kB can unpack to many GB.
"""

import zlib
from typing import Literal

import numpy as np

GZIP = b"\x1f\x8b"
_LARGEST_RATIO = 1032  # largest ratio of unpacked to packed bytes in deflate
_FED = 1 << 18  # bytes passed to zlib per step: unused ones are copied each time
_PIECE = 1 << 22
_MOST_MEMBERS = 1 << 14  # most members of a file: in blocks of 64 kB, as bgzip writes, 1 GB

Trouble = Literal["broken", "cut_off", "trailing"]


class BadStream(ValueError):
    """The compressed bytes are damaged, or the stream is shorter or longer than it should be."""

    def __init__(self, message: str, trouble: Trouble) -> None:
        super().__init__(message)
        self.trouble: Trouble = trouble


class Source:
    """Bytes of a file from its start, unpacked on demand if they are gzipped (several members are one stream)."""

    def __init__(self, content: bytes) -> None:
        self._content = memoryview(content)
        self._at = 0
        self._tail = b""
        self._members = 1
        self._unpacker = zlib.decompressobj(wbits=31) if content[:2] == GZIP else None

    def take(self, count: int) -> memoryview:
        """Return the next ``count`` bytes; for a plain file as a view. Memory is allocated only as far as it can be
        filled.

        Raises:
            BadStream: there are fewer, or they are not a gzip stream.
        """
        left = len(self._content) - self._at
        if self._unpacker is None:
            taken = self._content[self._at : self._at + count]
            self._at += len(taken)
            length = len(taken)
        elif count > _LARGEST_RATIO * (left + len(self._tail)) + _PIECE:
            raise BadStream(f"{count} bytes are declared, the rest of the file cannot hold them", "cut_off")
        else:
            taken = np.empty(count, np.uint8).data
            length = self._unpack(taken)
        if length < count:
            raise BadStream(f"{count} bytes are declared, {length} are there", "cut_off")
        return taken

    def finish(self, padding: int = 4096) -> None:
        """Check that only a few zeros follow, and the checksum of a gzip stream.

        Raises:
            BadStream: the stream goes on, or does not end properly.
        """
        if self._unpacker is None:
            rest = self._content[self._at : self._at + padding + 1]
        else:
            buffer = np.empty(padding + 1, np.uint8).data
            rest = buffer[: self._unpack(buffer)]
            if not self._unpacker.eof and len(rest) <= padding:
                raise BadStream("the compressed stream is cut off before its checksum", "cut_off")
        if len(rest) > padding or any(rest):
            raise BadStream("bytes follow what the header declares", "trailing")

    def _unpack(self, out: memoryview) -> int:
        """Fill a buffer as far as the stream has bytes."""
        assert self._unpacker is not None
        done = 0
        while done < len(out):
            if self._unpacker.eof and not self._next_member():
                break
            fed = self._tail or bytes(self._content[self._at : self._at + _FED])
            if not self._tail:
                self._at += len(fed)
            try:
                piece = self._unpacker.decompress(fed, min(len(out) - done, _PIECE))
            except zlib.error as error:
                raise BadStream(f"the compressed bytes are broken: {error}", "broken") from error
            self._tail = self._unpacker.unconsumed_tail
            if not piece and not fed:
                break
            out[done : done + len(piece)] = piece
            done += len(piece)
        return done

    def _next_member(self) -> bool:
        """Continue after the end of a gzip member; return False at the end of the file and its padding of zeros."""
        assert self._unpacker is not None
        rest = self._unpacker.unused_data + bytes(self._content[self._at : self._at + _FED])
        if rest[:2] != GZIP:
            if any(rest):
                raise BadStream("other bytes follow the compressed stream", "trailing")
            return False
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise BadStream(f"the file has more than {_MOST_MEMBERS} gzip members", "broken")
        self._at -= len(self._unpacker.unused_data)
        self._tail = b""
        self._unpacker = zlib.decompressobj(wbits=31)
        return True
