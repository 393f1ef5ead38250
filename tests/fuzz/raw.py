"""Bytes made from bytes: flipped, cut, repeated, spliced, with numbers at the edges of their ranges in them."""

import random
import struct
from collections.abc import Callable, Sequence

MOST_BYTES = 1 << 16
"""Of a case; what grows by doubling ends here."""
_EDGES = (
    *(b"\xff", b"\x00", b"\x7f", b"\x80"),
    *(
        struct.pack(order + kind, value)
        for kind, values in (
            ("h", (0, 1, -1, 32767, -32768)),
            ("i", (0, 1, -1, 348, 540, 2**31 - 1, -(2**31), 1 << 24)),
            ("q", (0, 1, -1, 2**63 - 1, -(2**63), 1 << 32, 1 << 40)),
            ("f", (0.0, -0.0, 1.0, -1.0, 3.4e38, 1e-45, float("nan"), float("inf"), float("-inf"))),
            ("d", (0.0, 1.0, 1.7e308, 5e-324, float("nan"), float("inf"))),
        )
        for order in "<>"
        for value in values
    ),
)
_TOKENS = (
    *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"\n", b"\r\n", b"\t", b"\0", b"'", b"<", b">", b"&", b"#"),
    *(b"..", b"../", b"/", b"NaN", b"null", b"true", b"1e400", b"-", b"9" * 400, b"\\ud800", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"\x1f\x8b\x08", b"PK\x03\x04", b"PAR1", b"\x93NUMPY", b"n+1", b"\xff" * 9 + b"\x01"),
)


def mutated(rng: random.Random, sample: bytes) -> bytes:
    """A sample with one to four changes; now and then nothing of it is left."""
    if rng.random() < 0.01:
        return rng.randbytes(rng.randrange(64))
    changed = bytearray(sample)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        rng.choice(_CHANGES)(rng, changed)
        del changed[MOST_BYTES:]
    return bytes(changed)


def _flip(rng: random.Random, content: bytearray) -> None:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def _set(rng: random.Random, content: bytearray) -> None:
    if content:
        content[rng.randrange(len(content))] = rng.randrange(256)


def _edge(rng: random.Random, content: bytearray) -> None:
    """Overwrites with a number from the edge of a type."""
    edge = rng.choice(_EDGES)
    at = rng.randrange(max(len(content) - len(edge) + 1, 1))
    content[at : at + len(edge)] = edge


def _insert(rng: random.Random, content: bytearray) -> None:
    at = rng.randrange(len(content) + 1)
    content[at:at] = rng.choice(_TOKENS) if rng.random() < 0.7 else rng.randbytes(rng.randrange(1, 9))


def _cut(rng: random.Random, content: bytearray) -> None:
    at = rng.randrange(len(content) + 1)
    del content[at : at + _length(rng, content)]


def _truncate(rng: random.Random, content: bytearray) -> None:
    del content[rng.randrange(len(content) + 1) :]


def _repeat(rng: random.Random, content: bytearray) -> None:
    at = rng.randrange(len(content) + 1)
    part = content[at : at + _length(rng, content)]
    content[at:at] = part * rng.choice((1, 1, 2, 8, 200))


def _move(rng: random.Random, content: bytearray) -> None:
    at, to = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
    part = content[at : at + _length(rng, content)]
    content[to : to + len(part)] = part


def _length(rng: random.Random, content: bytes | bytearray) -> int:
    return rng.choice((1, 2, 4, 8, 16, 64, max(len(content) // 4, 1)))


_CHANGES: Sequence[Callable[[random.Random, bytearray], None]] = (
    _flip, _flip, _set, _edge, _edge, _insert, _insert, _cut, _truncate, _repeat, _move,
)  # fmt: skip
