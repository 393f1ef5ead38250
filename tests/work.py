"""Amount of work of a block, counted rather than timed, so that it is the same on every machine."""

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from unittest import mock


class Work:
    """Lines of Python that a block ran in its own thread; what NumPy does with a whole array is one line."""

    lines = 0

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.lines += event == "line"
        return self._trace


@contextmanager
def counted() -> Iterator[Work]:
    """Count the lines that the block runs: few for arrays, at least one an element for a loop over elements."""
    work, before = Work(), sys.gettrace()
    sys.settrace(work._trace)
    try:
        yield work
    finally:
        sys.settrace(before)


def lines(call: Callable[[], object]) -> int:
    """Return how many lines of Python a call runs in this thread."""
    with counted() as work:
        call()
    return work.lines


class Unpacked:
    """What zlib unpacked in a block, in all threads."""

    streams = 0
    """Decompressors that were made."""
    nbytes = 0
    """Bytes that came out of them, kept or not."""


class _Counting:
    """A decompressor of zlib that counts what comes out of it."""

    def __init__(self, unpacker: Any, found: Unpacked) -> None:
        self._unpacker = unpacker
        self._found = found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._unpacker, name)

    def decompress(self, content: bytes, most: int = 0) -> bytes:
        out: bytes = self._unpacker.decompress(content, most)
        self._found.nbytes += len(out)
        return out


@contextmanager
def unpacked() -> Iterator[Unpacked]:
    """Count what the block unpacks with ``zlib.decompressobj``; memory shows only what is kept at one time."""
    tally, made = Unpacked(), zlib.decompressobj

    def counting(*args: Any, **options: Any) -> _Counting:
        tally.streams += 1
        return _Counting(made(*args, **options), tally)

    with mock.patch.object(zlib, "decompressobj", counting):
        yield tally
