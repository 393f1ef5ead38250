"""The header of an NPY file, taken apart without evaluating it: numpy's own reader runs a parser of Python over it.

Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (versions 1 to 3).
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAGIC = b"\x93NUMPY"
SHORTEST, LONGEST = 10, 4096
"""Bytes, with magic and length; real ones have 128 as a rule."""
_HEADER = re.compile(
    rb"\{\s*'descr'\s*:\s*(?P<descr>'[^']*'|\[.*\])\s*,\s*'fortran_order'\s*:\s*(?P<fortran>True|False)\s*,"
    rb"\s*'shape'\s*:\s*\((?P<shape>[\d\s,]*)\)\s*,?\s*\}\s*",
    re.DOTALL,
)
_MOST_DIGITS = 18


class BadHeader(ValueError):
    """It is none; the message says why."""


class Place(NamedTuple):
    """Where the text of a header stands."""

    start: int
    end: int
    """First byte of the numbers."""


class Header(NamedTuple):
    """What a file claims to hold."""

    descr: str
    """Type of the numbers, such as ``<f4``; a list's text where it is a record's."""
    fortran: bool
    """Whether the first axis runs quickest."""
    shape: tuple[int, ...]


def place(start: bytes) -> Place:
    """Where the header's text stands, by the first ``SHORTEST`` bytes of a file or more.

    Raises:
        BadHeader: no NPY file, or a header that is longer than any.
    """
    if start[: len(MAGIC)] != MAGIC or len(start) < SHORTEST:
        raise BadHeader("it does not begin as one")
    width = {1: 2, 2: 4, 3: 4}.get(start[6])
    if width is None:
        raise BadHeader(f"NPY has the versions 1 to 3, not {start[6]}")
    length = int.from_bytes(start[8 : 8 + width], "little")
    if length > LONGEST - 8 - width:
        raise BadHeader(f"the header has {length} bytes")
    return Place(8 + width, 8 + width + length)


def parse(text: bytes) -> Header:
    """
    Raises:
        BadHeader: the text says something else, or nothing.
    """
    found = _HEADER.fullmatch(text)
    if found is None:
        raise BadHeader("the header is none")
    lengths = [length.strip() for length in found["shape"].split(b",") if length.strip()]
    if not all(length.isdigit() and len(length) <= _MOST_DIGITS for length in lengths):
        raise BadHeader("the header has no shape")
    return Header(found["descr"].decode("latin-1"), found["fortran"] == b"True", tuple(map(int, lengths)))
