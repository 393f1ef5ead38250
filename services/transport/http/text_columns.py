"""Parsing of JSON rows in which some columns hold texts, with errors that name column and row.

Numbers are read as ``number_parsing`` reads them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from models.schema import Feature
from services.request.validate import value_error
from services.runtime.errors import InvalidInput, shortened
from services.transport.http import number_parsing
from services.transport.http.number_parsing import no_number

Texts = Mapping[str, Feature]
"""Name to feature of the categorical columns."""
_Columns = dict[str, list[Any]]


def columns(raw: bytes, skipped: Collection[str], texts: Texts) -> _Columns:
    """Return values by name; skipped columns may contain anything, and are empty.

    Raises:
        InvalidInput: a value that is no text in a categorical column, or no number in another.
        msgspec.MsgspecError: the text is of another form.
    """
    by_name = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    numeric = {name: values for name, values in by_name.items() if name not in texts}
    read: _Columns = dict(number_parsing.columns(msgspec.json.encode(numeric), skipped)) if numeric else {}
    return {name: read[name] if name in read else _texts(texts[name], values) for name, values in by_name.items()}


def rows(raw: bytes, skipped: Collection[str], texts: Texts) -> list[dict[str, Any]]:
    """Return a dictionary for each row; skipped columns may contain anything.

    Raises:
        InvalidInput: a row that is no object, or see ``columns``.
        msgspec.MsgspecError: the text is of another form.
    """
    table: list[dict[str, Any]] = []
    for index, row in enumerate(msgspec.json.decode(raw, type=list[msgspec.Raw])):
        try:
            values = msgspec.json.decode(row, type=dict[str, Any])
        except msgspec.ValidationError as error:
            raise InvalidInput.about(
                "rows",
                shortened(bytes(row).decode(errors="ignore")),
                f"row {index} must be an object of values by column",
                code="not_a_body",
                index=index,
            ) from error
        table.append({name: None if name in skipped else _value(name, v, index, texts) for name, v in values.items()})
    return table


def matrix(raw: bytes, texts: Texts) -> tuple[list[str], list[Any]]:
    """Return columns and values of a matrix.

    Raises:
        InvalidInput: see ``columns``.
        msgspec.MsgspecError: the text is of another form.
    """
    parts = msgspec.json.decode(raw, type=_Matrix)
    names = parts.columns
    if names:
        for place, value in enumerate(parts.values):
            index, column = divmod(place, len(names))
            _value(names[column], value, index, texts)
    return names, parts.values


class _Matrix(msgspec.Struct, forbid_unknown_fields=True):
    columns: list[str]
    values: list[float | str | bool | None]


def _texts(feature: Feature, raw: msgspec.Raw) -> list[str | None]:
    try:
        return msgspec.json.decode(raw, type=list[str | None])
    except msgspec.ValidationError:
        values = msgspec.json.decode(raw, type=Any)
    if not isinstance(values, Sequence):
        raise InvalidInput.about(feature.name, shortened(str(values)), "must be a list of texts", code="not_a_body")
    index, value = next((i, v) for i, v in enumerate(values) if not isinstance(v, str | None))
    raise _no_text(feature, value, index)


def _value(name: str, value: Any, index: int, texts: Texts) -> Any:
    if name in texts:
        if not isinstance(value, str | None):
            raise _no_text(texts[name], value, index)
        return value
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise no_number(name, name, index, shortened(msgspec.json.encode(value).decode(), 40))


def _no_text(feature: Feature, value: Any, index: int) -> InvalidInput:
    return value_error(feature, shortened(msgspec.json.encode(value).decode(), 40), index, "not_a_text")
