"""Parsing of the numbers of a JSON body, with errors that quote the value."""

import re
from collections.abc import Collection
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from models.schema import Schema
from services.request.validate import value_error
from services.runtime.errors import InvalidInput, shortened
from services.transport.http.row_body import Matrix, Number

_QUOTED_BYTES = 1 << 20
"""Size, in bytes, above which texts are not parsed again to quote a value, since that would be too expensive."""
_SHORT_CHARACTERS = 40
_WORDS = frozenset({str, bool})
_INDEX = re.compile(r"`\$\[(\d+)\]")
"""Position in an error of msgspec."""


def columns(raw: bytes, skipped: Collection[str] = ()) -> dict[str, list[Number]]:
    """Return values by name; skipped columns may contain anything, and are empty.

    Raises:
        InvalidInput: a value is not a number that a float64 holds.
        msgspec.MsgspecError: the text is of another form.
    """
    try:
        return msgspec.json.decode(raw, type=dict[str, list[Number]])
    except msgspec.ValidationError:
        by_name = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        for name, values in by_name.items():
            if name not in skipped:
                _check_column(name, values)
        if by_name.keys().isdisjoint(skipped):
            raise
        return {name: [] if name in skipped else _decode(values) for name, values in by_name.items()}


def rows(raw: bytes, skipped: Collection[str] = ()) -> list[dict[str, Number]]:
    """Return a dictionary for each row; skipped columns may contain anything.

    Raises:
        InvalidInput: a value is not a number that a float64 holds.
        msgspec.MsgspecError: the text is of another form.
    """
    try:
        return msgspec.json.decode(raw, type=list[dict[str, Number]])
    except msgspec.ValidationError as error:
        if (index := _index(error)) is None:
            raise
        if len(raw) > _QUOTED_BYTES and not skipped:
            raise no_number("a value", "", index, "") from error
        row = msgspec.json.decode(raw, type=list[msgspec.Raw])[index]
        try:
            values = msgspec.json.decode(row, type=dict[str, msgspec.Raw])
        except msgspec.ValidationError as other:
            raise InvalidInput.about(
                "rows",
                _short(bytes(row)),
                f"row {index} must be an object of numbers by column",
                code="not_a_body",
                index=index,
            ) from other
        for name, value in values.items():
            if name not in skipped:
                _check_value(name, index, value)
        if values.keys().isdisjoint(skipped):
            raise
        return _rows_with_metadata(raw, skipped)


def matrix(raw: bytes) -> Matrix:
    """Return columns and values of a matrix, all of which must be numbers or null.

    Raises:
        InvalidInput: a value is not a number that a float64 holds.
        msgspec.MsgspecError: the text is of another form.
    """
    try:
        return msgspec.json.decode(raw, type=Matrix)
    except msgspec.ValidationError as error:
        parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        if parts.keys() != {"columns", "values"} or (place := _place(parts["values"])) is None:
            raise
        names = msgspec.json.decode(parts["columns"], type=list[str])
        if not names:
            raise
        index, column = divmod(place, len(names))
        if len(raw) > _QUOTED_BYTES:
            raise no_number(names[column], names[column], index, "") from error
        value = msgspec.json.decode(parts["values"], type=list[msgspec.Raw])[place]
        raise no_number(names[column], names[column], index, _short(bytes(value))) from error


def _place(values: msgspec.Raw) -> int | None:
    """Return the position of the first value that is not a number; None if there is none, or it is not a list."""
    try:
        msgspec.json.decode(values, type=list[Number])
    except msgspec.ValidationError as error:
        return _index(error)
    return None


def _rows_with_metadata(raw: bytes, skipped: Collection[str]) -> list[dict[str, Number]]:
    """Return rows with metadata in one pass if these are texts, as is usual; otherwise decode each value by itself."""
    try:
        rows: list[dict[str, Any]] = msgspec.json.decode(raw, type=list[dict[str, float | str | bool | None]])
    except msgspec.ValidationError:
        return _rows_with_anything(raw, skipped)
    for index, row in enumerate(rows):
        for name in row.keys() & skipped:
            row[name] = None
        if not _WORDS.isdisjoint(map(type, row.values())):
            name, value = next((name, value) for name, value in row.items() if type(value) in _WORDS)
            raise no_number(name, name, index, _short(msgspec.json.encode(value)))
    return rows


def _rows_with_anything(raw: bytes, skipped: Collection[str]) -> list[dict[str, Number]]:
    rows = []
    for index, row in enumerate(msgspec.json.decode(raw, type=list[dict[str, msgspec.Raw]])):
        for name, value in row.items():
            if name not in skipped:
                _check_value(name, index, value)
        rows.append({n: None if n in skipped else msgspec.json.decode(v, type=Number) for n, v in row.items()})
    return rows


def _decode(values: msgspec.Raw) -> list[Number]:
    return msgspec.json.decode(values, type=list[Number])


def narrowed(name: str, values: list[Number], schema: Schema) -> NDArray[np.float32]:
    """Return a column as float32 [N]; null in a nullable column is NaN.

    Raises:
        InvalidInput: a null in a column without missing values, or a number beyond the range of float32. Both are
            checked here, since later they look like any NaN and infinity.
    """
    with np.errstate(over="ignore"):
        narrow = np.array(values, np.float64).astype(np.float32)
    fine = np.isfinite(narrow)
    if fine.all() or name not in schema.position:
        return narrow
    feature = schema.features[schema.position[name]]
    if feature.nullable:
        fine |= np.isnan(narrow)
    if fine.all():
        return narrow
    index = int(np.argmin(fine))
    value = values[index]
    text = "null" if value is None else f"{value:g}"
    raise value_error(feature, text, index, "not_finite" if value is None else "out_of_range")


def _check_column(name: str, values: msgspec.Raw) -> None:
    try:
        msgspec.json.decode(values, type=list[Number])
    except msgspec.ValidationError as error:
        if (index := _index(error)) is None:
            raise InvalidInput.about(
                name, _short(bytes(values)), "must be a list of numbers", code="not_a_body"
            ) from error
        if len(bytes(values)) > _QUOTED_BYTES:
            raise no_number(name, name, index, "") from error
        _check_value(name, index, msgspec.json.decode(values, type=list[msgspec.Raw])[index])


def _check_value(name: str, index: int, value: msgspec.Raw) -> None:
    try:
        msgspec.json.decode(value, type=Number)
    except msgspec.ValidationError as error:
        raise no_number(name, name, index, _short(bytes(value))) from error


def no_number(what: str, field: str, index: int, value: str) -> InvalidInput:
    """Return the error for a value that is no number.

    Args:
        what: name or description of the value, for the message.
        value: JSON text of the value; empty to quote none.
    """
    quoted = f" = {value}" if value else ""
    return InvalidInput(
        f"{shortened(what)}{quoted} in row {index}: must be a JSON number in the range of float64, or null where a "
        "value may be missing",
        code="not_a_number",
        field=field,
        value=value,
        index=index,
    )


def _index(error: Any) -> int | None:
    match = _INDEX.search(str(error))
    return None if match is None else int(match[1])


def _short(text: bytes) -> str:
    """Return JSON text, cut if it is long."""
    return shortened(text[: 4 * _SHORT_CHARACTERS].decode(errors="ignore"), _SHORT_CHARACTERS)
