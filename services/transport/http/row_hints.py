"""Errors for JSON bodies of rows, which name the form, column and row at fault."""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from models.schema import Feature, Schema
from services.request.validate import LISTED, value_error
from services.runtime.errors import InvalidInput, shortened
from services.transport.http.decoding import ERRORS
from services.transport.http.json_errors import Path, ends, explained, literal

_COLUMNS = re.compile(rb'"columns"\s*:\s*(\[[^\]]*\])')
"""Names of a matrix, in a text that as a whole is not JSON."""
_WHOLE_ROW = 16
"""Largest number of columns for a complete example that can be sent unchanged."""
_SOME = 3
"""Number of columns in an example of a wider schema."""


def explain(body: bytes, error: Exception, schema: Schema) -> InvalidInput:
    """Return the error for a body of rows that could not be decoded.

    Args:
        error: error of the decoder.
    """
    word = literal(body, error)
    if word is not None and word.missing and (place := _place(body, word.path)) is not None:
        return _not_finite(word.text, *place, schema)
    if isinstance(error, msgspec.ValidationError) and (form := _bare(body, schema)):
        return InvalidInput(f"the body is {form}; send {example(schema)}", code="not_a_body")
    return explained(body, error, example(schema))


def example(schema: Schema) -> str:
    """Return a body of one row as JSON; if there are many columns, with the first ones only."""
    features = schema.features if len(schema) <= _WHOLE_ROW else schema.features[:_SOME]
    pairs = ", ".join(f"{json.dumps(feature.name)}: {_value(feature)}" for feature in features)
    rest = "" if len(features) == len(schema) else f", ... and the other {len(schema) - _SOME} columns of /v1/schema"
    return f'{{"rows": [{{{pairs}{rest}}}]}}'


def unknown_units(names: Sequence[str], schema: Schema) -> InvalidInput:
    """Return the error for units of columns that the body does not have."""
    listed = ", ".join(repr(shortened(name)) for name in names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    which = "which is not a column" if len(names) == 1 else "which are not columns"
    return InvalidInput(
        f"units names {listed}{more}, {which} of this body",
        code="unknown_column",
        field=names[0],
        allowed=", ".join(schema.names),
    )


def _place(body: bytes, path: Path) -> tuple[str, int] | None:
    """Return the column and row of a value; None if it is not among the rows."""
    if path[:1] in (("rows",), ("columns",)):
        return ends(path[1:])
    if path[:2] == ("matrix", "values") and (columns := _COLUMNS.search(body)):
        try:
            names = msgspec.json.decode(columns[1], type=list[str])
        except ERRORS:
            return None
        index, column = divmod(ends(path)[1], max(1, len(names)))
        return (names[column], index) if names else None
    return None


def _not_finite(text: str, name: str, index: int, schema: Schema) -> InvalidInput:
    feature = schema.features[schema.position[name]] if name in schema.position else None
    if feature is None or feature.nullable:
        return InvalidInput.about(
            name,
            text,
            f"is not JSON in row {index}",
            code="not_finite",
            advice="send null for a missing value",
            index=index,
        )
    return value_error(feature, text, index, "not_finite")


def _bare(body: bytes, schema: Schema) -> str:
    """Describe a body of rows without the enclosing object; return an empty text for any other body."""
    try:
        content: Any = msgspec.json.decode(body, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
        if isinstance(content, list):
            return "a list by itself"
    except ERRORS:
        return ""
    known = {*schema.names, *schema.metadata}
    if known.isdisjoint(content):
        return ""
    return (
        "one row by itself"
        if not any(bytes(value)[:1] == b"[" for value in content.values())
        else "columns by themselves"
    )


def _value(feature: Feature) -> str:
    """Return a value within the range of a column, with few digits."""
    if feature.categories:
        return json.dumps(feature.categories[0])
    if feature.values:
        return f"{feature.values[0]:g}"
    lower, upper = feature.lower, feature.upper
    middle = (lower + upper) / 2
    if not np.isfinite(middle):
        return f"{max(lower, min(upper, 0.0)):g}"
    for digits in range(1, 8):
        text = f"{middle:.{digits}g}"
        if lower <= float(text) <= upper:
            return f"{float(text):g}"
    return repr(middle)
