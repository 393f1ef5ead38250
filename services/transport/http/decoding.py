"""What callers send as JSON or in the texts of a form, to values; what is none is refused in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from services.errors import InvalidInput
from services.transport.binding import FormField

T = TypeVar("T")
_SHOWN = 40
"""Characters of a value that a refusal quotes."""


def json(body: bytes, kind: type[T]) -> T:
    """A JSON body as a value of a type.

    Raises:
        InvalidInput: not JSON of this form.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"the body is not the JSON that this route takes: {error}", code="not_a_body") from error


def texts(fields: Mapping[str, bytes], known: Mapping[str, FormField]) -> dict[str, str]:
    """The texts among the fields of a form; empty ones are left out.

    Raises:
        InvalidInput: one is not UTF-8.
    """
    found = {name: text(name, fields[name]) for name, field in known.items() if name in fields and not field.file}
    return {name: value for name, value in found.items() if value}


def text(name: str, content: bytes) -> str:
    """A text of a form.

    Raises:
        InvalidInput: it is not UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is no UTF-8 text", code="not_a_form", field=name) from error


def number(name: str, given: str, unit: str) -> float:
    """A number of a form; ``unit`` is said in the refusal.

    Raises:
        InvalidInput: it is none.
    """
    try:
        return float(given)
    except ValueError as error:
        raise InvalidInput(
            f"{name} = {given[:_SHOWN]!r} is no number; give one in {unit}",
            code="not_a_number",
            field=name,
            value=given[:_SHOWN],
        ) from error
