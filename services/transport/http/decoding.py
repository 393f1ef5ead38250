"""Decoding of JSON bodies, their integers, and the texts of forms, with errors that explain what to send."""

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

import msgspec

from services.runtime.errors import InvalidInput
from services.transport.binding import FormField
from services.transport.http import doubled_names
from services.transport.http.json_errors import BOM, explained

T = TypeVar("T")
_SHOWN = 40
"""Maximum length, in characters, of a value that an error quotes."""
Integer = int | float
"""Type of an integer field of a body, before ``integer`` has checked it."""
_EXACT = 2.0**53
"""Up to this magnitude float64 represents each integer exactly."""


class JsonBody(msgspec.Struct, forbid_unknown_fields=True):
    """Base of the JSON bodies that routes accept."""

    EXAMPLE: ClassVar[str] = ""
    """Example of the body as JSON, for errors."""


Body = TypeVar("Body", bound=JsonBody)
ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors of decoding a body that is not JSON of the expected form."""


def json_body(content: bytes, kind: type[Body], *, field: str = "") -> Body:
    """Decode a JSON body as a struct.

    Args:
        field: field of the error, if no value of the body is the cause.

    Raises:
        InvalidInput: not JSON of this form, or a name is given twice.
    """

    def read(text: bytes) -> Body:
        parsed = msgspec.json.decode(text, type=kind)
        doubled_names.check(text, parsed)
        return parsed

    return decoded(content, read, lambda text, error: explained(text, error, kind.EXAMPLE, field=field))


def json(body: bytes, kind: type[T], example: str = "") -> T:
    """Decode a JSON body as a value of a type; of duplicate names the last is used.

    Args:
        example: a body of this type as JSON, for errors.

    Raises:
        InvalidInput: not JSON of this form.
    """
    return decoded(
        body, lambda text: msgspec.json.decode(text, type=kind), lambda text, error: explained(text, error, example)
    )


def decoded(body: bytes, read: Callable[[bytes], T], explain: Callable[[bytes, Exception], InvalidInput]) -> T:
    """Decode a body with ``read``, without its byte order mark.

    Args:
        read: raises one of ``ERRORS`` if the body is invalid.
        explain: returns the error for callers from the body and that error.

    Raises:
        InvalidInput: the body is not JSON of this form.
    """
    try:
        return read(body)
    except ERRORS as error:
        if body.startswith(BOM):
            return decoded(body[len(BOM) :], read, explain)
        raise explain(body, error) from error


def texts(fields: Mapping[str, bytes], known: Mapping[str, FormField]) -> dict[str, str]:
    """Return the texts among the fields of a form, without empty ones.

    Raises:
        InvalidInput: a text is not UTF-8.
    """
    texts = {name: text(name, fields[name]) for name, field in known.items() if name in fields and not field.file}
    return {name: value for name, value in texts.items() if value}


def text(name: str, content: bytes) -> str:
    """Return a text of a form.

    Raises:
        InvalidInput: it is not UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is no UTF-8 text", code="not_a_form", field=name) from error


def number(name: str, text: str, unit: str) -> float:
    """Return a number of a form; errors name its ``unit``.

    Raises:
        InvalidInput: the text is not a number.
    """
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput.about(name, text[:_SHOWN], f"must be a number in {unit}", code="not_a_number") from error


def integer(field: str, value: Integer, unit: str = "") -> int:
    """Return a JSON number as an integer.

    Args:
        unit: unit of the value; empty for none.

    Raises:
        InvalidInput: the number has a fraction, or was written as a float and is too large to be exact.
    """
    if isinstance(value, int):
        return value
    if value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    raise InvalidInput.about(
        field,
        f"{value:g}",
        "expected an integer, such as 49 or 49.0",
        code="not_a_number",
        unit=unit,
        allowed="integers",
    )
