"""Messages made from messages, as bytes: fields changed, doubled, lost, nested and cut, whatever their type.

Fields are told apart by the wire format alone, so that numbers and types may stop fitting the schema, too.
"""

import random
import struct
from typing import Any

from tests.fuzz import raw
from tests.models.motion.wire import varint

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_EDGES = (0, 1, 2, 3, 4, 127, 128, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
_DOUBLES = (0.0, -0.0, 1.0, -1.0, 1e39, 1.7e308, 5e-324, float("nan"), float("inf"), float("-inf"), 2.0**63, 1e9)
_BYTES = (
    *(b"", b"\0", b"\0" * 3, b"\0" * 4, b"\0" * 8, b"a", b"\xff", b"\xff" * 8, b"\xed\xa0\x80", b"\xc0\x80"),
    *("é😀".encode(), b"0123456789abcdef-0", b"f" * 32, b"{", b"[" * 500, b"x" * 5000, b"1e400", b"\x1f\x8b\x08\0"),
)


def mutated(rng: random.Random, sample: bytes) -> bytes:
    """A message with one to three changes of fields; some are garbled as bytes on top."""
    mutant = sample
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        mutant = _changed(rng, mutant)[: raw.MOST_BYTES]
    return raw.mutated(rng, mutant) if rng.random() < 0.2 else mutant


def fields(content: bytes) -> list[list[Any]] | None:
    """[number, type, value] of each field; None where the bytes are no message."""
    entries, at = [], 0
    while at < len(content):
        tag, at = _number(content, at)
        kind, value = tag & 7, None
        if kind == _VARINT:
            value, at = _number(content, at)
        elif kind == _LENGTH:
            size, at = _number(content, at)
            value, at = content[at : at + size], at + size
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value, at = content[at : at + size], at + size
        if not tag >> 3 or value is None or at > len(content):
            return None
        entries.append([tag >> 3, kind, value])
    return entries


def message(entries: list[list[Any]]) -> bytes:
    """The inverse of ``fields``."""
    parts = []
    for number, kind, value in entries:
        parts.append(varint(number << 3 | kind))
        if kind == _VARINT:
            parts.append(varint(value))
        elif kind == _LENGTH:
            parts.append(varint(len(value)) + value)
        else:
            parts.append(value)
    return b"".join(parts)


def _changed(rng: random.Random, content: bytes) -> bytes:
    entries = fields(content)
    if not entries:
        return rng.choice(_BYTES) if rng.random() < 0.5 else raw.mutated(rng, content)
    index = rng.randrange(len(entries))
    entry = entries[index]
    if entry[1] == _LENGTH and rng.random() < 0.6:  # go inside
        entry[2] = _changed(rng, entry[2])
        return message(entries)
    kind = rng.randrange(10)
    if kind == 0:
        del entries[index]
    elif kind == 1:
        entries[index:index] = [entry] * rng.choice((1, 2, 40))
    elif kind == 2:
        entry[0] = rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 2**29 - 1))
    elif kind == 3:
        entries[index] = [entry[0], *_value(rng)]
    elif kind == 4:
        return message(entries[:index]) + varint(entry[0] << 3 | _LENGTH) + varint(rng.choice(_EDGES)) + b"ab"
    elif kind == 5:  # a message in itself, many times
        inner = message(entries)
        for _ in range(rng.choice((5, 90, 120, 300))):
            inner = varint(entry[0] << 3 | _LENGTH) + varint(len(inner)) + inner
        return inner
    elif kind == 6:
        entries.insert(index, [rng.randrange(1, 20), *_value(rng)])
    else:
        entry[2] = _other(rng, entry[1], entry[2])
    return message(entries)


def _value(rng: random.Random) -> tuple[int, Any]:
    kind = rng.choice((_VARINT, _LENGTH, _FIXED64, _FIXED32))
    return kind, _other(rng, kind, b"")


def _other(rng: random.Random, kind: int, value: Any) -> Any:
    if kind == _VARINT:
        return rng.choice(_EDGES)
    if kind == _FIXED64:
        return struct.pack("<d", rng.choice(_DOUBLES)) if rng.random() < 0.7 else rng.randbytes(8)
    if kind == _FIXED32:
        return struct.pack("<I", rng.choice(_EDGES) & 0xFFFFFFFF)
    if rng.random() < 0.4:
        return rng.choice(_BYTES)
    packed = b"".join(struct.pack("<f", min(rng.choice(_DOUBLES), 3e38)) for _ in range(rng.randrange(1, 6)))
    return rng.choice((packed, value[:-1], value + value[-4:], value * 2, value[: len(value) // 2], rng.randbytes(20)))


def _number(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for digit in range(10):
        if at + digit >= len(content):
            break
        value |= (content[at + digit] & 127) << 7 * digit
        if content[at + digit] < 128:
            return value, at + digit + 1
    return 0, len(content) + 1
