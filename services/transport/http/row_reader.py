"""Reading of the JSON bodies of tabular tasks as requests.

Plain bodies are decoded straight into a matrix. All others are read column by column, with errors that explain them.
"""

from collections.abc import Callable, Collection
from typing import Any

import msgspec
from msgspec import UNSET

from models.schema import Schema
from services.request.row_task import NO_INTERVALS, IntervalsOption, Named, Packed, RowsRequest
from services.request.validate import Column, no_rows
from services.runtime.errors import InvalidInput, shortened
from services.transport.binding import Options, purpose, stricter
from services.transport.http import decoding, doubled_names, number_parsing, row_hints, text_columns
from services.transport.http.row_body import BodyDecoder, RowsBody
from services.transport.http.text_columns import Texts

Read = Callable[[bytes], tuple[RowsRequest, Options]]
_Columns = dict[str, list[Any]]
_WITH_INTERVALS = IntervalsOption(requested=True)


def reader(heads: tuple[str, ...], schema: Schema) -> Read:
    """Return a function that reads a JSON body as a request for a task of these heads, with columns of this schema.

    It raises ``InvalidInput`` for a body that is not JSON or not of this form, a duplicate name, and values that are
    not numbers. Names and ranges of columns are checked later, alike for all transports.
    """
    decoder = BodyDecoder(schema)

    def read(body: bytes) -> tuple[RowsRequest, Options]:
        parsed, form = decoding.decoded(body, form_of, lambda text, error: row_hints.explain(text, error, schema))
        threshold = None if parsed.defer_above is UNSET else parsed.defer_above
        options = Options(
            purpose(None if parsed.purpose is UNSET else parsed.purpose),
            stricter(threshold, heads),
        )
        intervals = _WITH_INTERVALS if parsed.intervals is True else NO_INTERVALS
        return RowsRequest(form, parsed.members is True, intervals), options

    def form_of(body: bytes) -> tuple[RowsBody, Packed | Named]:
        decoded = decoder.decode(body)
        if decoded is None:
            return _named(body, schema)
        return decoded.body, Packed(len(decoded.rows), decoded.rows.astype("<f4", copy=False).tobytes())

    return read


def _named(body: bytes, schema: Schema) -> tuple[RowsBody, Named]:
    """Return the body, and its columns by name without metadata."""
    parsed = msgspec.json.decode(body, type=RowsBody)
    forms = {name: bytes(getattr(parsed, name)) for name in ("columns", "rows", "matrix")}
    sent = {name: raw for name, raw in forms.items() if raw}
    rest = body
    for raw in sent.values():
        rest = rest.replace(raw, b"0", 1)
    if rest.count(b":") > 1:
        doubled_names.load(rest)
    if len(sent) != 1:
        quoted = [f'"{name}"' for name in sent or forms]
        listed = ", ".join(quoted[:-1])
        problem = f"has {listed} and {quoted[-1]}" if sent else f"has neither {listed} nor {quoted[-1]}"
        raise InvalidInput(f"the body {problem}; send {row_hints.example(schema)}", code="not_a_body")
    ((name, raw),) = sent.items()
    by_name = _READERS[name](raw, frozenset(schema.metadata), {f.name: f for f in schema.features if f.categories})
    units = {} if parsed.units is UNSET else parsed.units
    if unknown := [name for name in units if name not in by_name]:
        raise row_hints.unknown_units(unknown, schema)
    return parsed, Named(
        tuple(
            Column(name, _column(name, values, schema) if known else (), units.get(name, ""))
            for name, values in by_name.items()
            if (known := name in schema.position) or name not in schema.metadata  # unknown names are refused later
        )
    )


def _column(name: str, values: list[Any], schema: Schema) -> Any:
    """Return a column as numbers in float32, or as the texts of a categorical one."""
    return values if schema.position[name] in schema.codes else number_parsing.narrowed(name, values, schema)


def _columns(raw: bytes, skipped: Collection[str], texts: Texts) -> _Columns:
    columns = text_columns.columns(raw, skipped, texts) if texts else number_parsing.columns(raw, skipped)
    _refuse_doubled(raw, len(columns))
    return columns


def _rows(raw: bytes, skipped: Collection[str], texts: Texts) -> _Columns:
    rows = text_columns.rows(raw, skipped, texts) if texts else number_parsing.rows(raw, skipped)
    _refuse_doubled(raw, sum(map(len, rows)))
    if not rows:
        raise no_rows()
    names = rows[0].keys()
    for index, row in enumerate(rows):
        if row.keys() != names and (differing := (names ^ row.keys()) - set(skipped)):
            name = sorted(differing)[0]
            raise InvalidInput(
                f"row {index} and row 0 differ in column {shortened(name)!r}; give every row the same columns",
                code="unequal_rows",
                field=name,
                index=index,
            )
    return {name: [] if name in skipped else [row[name] for row in rows] for name in names}


def _matrix(raw: bytes, skipped: Collection[str], texts: Texts) -> _Columns:
    if texts:
        names, values = text_columns.matrix(raw, texts)
    else:
        matrix = number_parsing.matrix(raw)
        names, values = matrix.columns, matrix.values
    _refuse_doubled(raw, 2)
    width, count = len(names), len(values)
    for name in names:
        if names.count(name) > 1:
            raise doubled_names.doubled(name)
    if count % width if width else count:
        raise InvalidInput.about(
            "values",
            count,
            f"must be complete rows of {width} columns, one after the other",
            code="wrong_length",
            unit="numbers",
            allowed=f"multiples of {width}",
        )
    return {name: [] if name in skipped else values[place::width] for place, name in enumerate(names)}


_READERS: dict[str, Callable[[bytes, Collection[str], Texts], _Columns]] = {
    "columns": _columns,
    "rows": _rows,
    "matrix": _matrix,
}


def _refuse_doubled(raw: bytes, names: int) -> None:
    """Refuse duplicate names, of which JSON parsers silently keep the last; extra colons reveal them."""
    if raw.count(b":") != names:
        doubled_names.load(raw)
