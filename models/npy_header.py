"""Parser of NPY headers that does not evaluate Python literals, as numpy's own reader does.

Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html (versions 1 to 3).
"""

import re
from typing import NamedTuple

MAGIC = b"\x93NUMPY"
SHORTEST, LONGEST = 10, 4096
"""Limits of a header's length in bytes, with magic and length field; most files have 128."""
_HEADER = re.compile(
    rb"\{\s*'descr'\s*:\s*(?P<descr>'[^']*'|\[.*\])\s*,\s*'fortran_order'\s*:\s*(?P<fortran>True|False)\s*,"
    rb"\s*'shape'\s*:\s*\((?P<shape>[\d\s,]*)\)\s*,?\s*\}\s*",
    re.DOTALL,
)
_MOST_DIGITS = 18


class BadHeader(ValueError):
    """The bytes are not an NPY header; the message says why."""


class Place(NamedTuple):
    """Position of a header's text in the file."""

    start: int
    end: int
    """Position of the first byte of the numbers."""


class Header(NamedTuple):
    """Type, order and shape that a header declares."""

    descr: str
    """Type of the numbers, such as ``<f4``; for records, the text of the list."""
    fortran: bool
    """True if the first axis varies fastest."""
    shape: tuple[int, ...]


def place(start: bytes) -> Place:
    """Return the position of the header's text, from at least the first ``SHORTEST`` bytes of a file.

    Raises:
        BadHeader: not an NPY file, or a header longer than ``LONGEST``.
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
    """Parse the text of a header.

    Raises:
        BadHeader: the text is not a header, or has no valid shape.
    """
    match = _HEADER.fullmatch(text)
    if match is None:
        raise BadHeader("the header is none")
    lengths = [length.strip() for length in match["shape"].split(b",") if length.strip()]
    if not all(length.isdigit() and len(length) <= _MOST_DIGITS for length in lengths):
        raise BadHeader("the header has no shape")
    return Header(match["descr"].decode("latin-1"), match["fortran"] == b"True", tuple(map(int, lengths)))
