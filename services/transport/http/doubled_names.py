"""Names that a JSON object has twice: parsers keep the last in silence, so they are looked for and refused."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import msgspec

from services.errors import InvalidInput, shortened

_LONG = 64
"""Bytes of a value that is taken out before names are read: it may be a file."""


def check(body: bytes, parsed: msgspec.Struct) -> None:
    """Refuse a top-level name that is given twice.

    A colon follows each name. So no name is doubled where the body has as many colons as ``parsed`` proves to have
    come; else, where texts or inner objects hold colons, the values are split off and those outside are counted.

    Args:
        body: an object.
        parsed: what was decoded of it; unknown names were refused.

    Raises:
        InvalidInput: it is.
    """
    if not _more_colons(body, _proven(parsed)):
        return
    values = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    parts = [bytes(value) for value in values.values()]
    if body.count(b":") != len(values) + sum(part.count(b":") for part in parts):
        for part in parts:
            if len(part) > _LONG:
                body = body.replace(part, b"0", 1)
        load(body, code="doubled_field")


def load(text: bytes, *, code: str = "doubled_column") -> None:
    """Read all objects of a JSON text.

    Raises:
        InvalidInput: one has a name twice.
        msgspec.DecodeError: it is no JSON.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in items:
            if name in found:
                raise InvalidInput(f"{shortened(name)!r} is given twice; give each name once", code=code, field=name)
            found[name] = value
        return found

    try:
        json.loads(text, object_pairs_hook=pairs, parse_int=float)  # int() refuses thousands of digits
    except json.JSONDecodeError as error:  # in what msgspec only passed over
        raise msgspec.DecodeError(f"JSON is malformed: {error.msg} (byte {error.pos})") from error


def _more_colons(body: bytes, most: int) -> bool:
    place = -1
    for _ in range(most + 1):
        place = body.find(b":", place + 1)
        if place < 0:
            return False
    return True


def _proven(parsed: msgspec.Struct) -> int:
    """Count of different names that must have come: the required ones, and those whose value is no default."""
    required, optional = _names(type(parsed))
    return required + sum(bool(getattr(parsed, name)) for name in optional)


@lru_cache(maxsize=64)
def _names(kind: type[msgspec.Struct]) -> tuple[int, tuple[str, ...]]:
    """The count of required names, and the names whose default is false in a condition, so that what is not came."""
    fields = msgspec.structs.fields(kind)
    required = sum(field.required for field in fields)
    return required, tuple(
        field.name
        for field in fields
        if not field.required and field.default is not msgspec.NODEFAULT and field.default in (None, "", 0, False)
    )
