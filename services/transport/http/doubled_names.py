"""Refusal of duplicate names in JSON objects, of which parsers silently keep the last."""

import json
from functools import lru_cache
from typing import Any

import msgspec

from services.runtime.errors import InvalidInput, shortened

_LONG = 64
"""Size, in bytes, above which values, such as files, are removed before names are read."""


def check(body: bytes, parsed: msgspec.Struct) -> None:
    """Refuse a body in which a top-level name is given twice.

    A colon follows each name. If the body has no more colons than ``parsed`` has names that must be present, no name is
    duplicate. Otherwise texts or inner objects may hold colons, so only those outside of values are counted.

    Args:
        body: a JSON object.
        parsed: the decoded body; unknown names were refused.

    Raises:
        InvalidInput: a name is given twice.
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
    """Read all objects of a JSON text, and refuse duplicate names in them.

    Raises:
        InvalidInput: an object has a name twice.
        msgspec.DecodeError: the text is not JSON.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in items:
            if name in members:
                raise doubled(name, code=code)
            members[name] = value
        return members

    try:
        json.loads(text, object_pairs_hook=pairs, parse_int=float)  # int() refuses thousands of digits
    except json.JSONDecodeError as error:  # in a part that msgspec skipped
        raise msgspec.DecodeError(f"JSON is malformed: {error.msg} (byte {error.pos})") from error


def doubled(name: str, *, code: str = "doubled_column") -> InvalidInput:
    """Return the error for a duplicate name."""
    return InvalidInput(f"{shortened(name)!r} is given twice; give each name once", code=code, field=name)


def _more_colons(body: bytes, most: int) -> bool:
    place = -1
    for _ in range(most + 1):
        place = body.find(b":", place + 1)
        if place < 0:
            return False
    return True


def _proven(parsed: msgspec.Struct) -> int:
    """Return the number of names that must be present: required ones, and those whose value is not the default."""
    required, optional = _names(type(parsed))
    return required + sum(bool(getattr(parsed, name)) for name in optional)


@lru_cache(maxsize=64)
def _names(kind: type[msgspec.Struct]) -> tuple[int, tuple[str, ...]]:
    """Return the number of required names, and the names with a falsy default: if true, the value was in the body."""
    fields = msgspec.structs.fields(kind)
    required = sum(field.required for field in fields)
    return required, tuple(
        field.name
        for field in fields
        if not field.required and field.default is not msgspec.NODEFAULT and field.default in (None, "", 0, False)
    )
