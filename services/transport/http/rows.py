"""JSON bodies of tabular tasks."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

import msgspec
import numpy as np

from models.calibration import IntervalTable
from models.familiarity import Departures
from models.schema import Schema
from services.ledger.contract import Portion
from services.request.contract import Description
from services.request.row_task import Named, RowsRequest
from services.request.validate import Column, no_rows
from services.runtime.errors import InvalidInput, shortened
from services.transport import head_answer
from services.transport.answer import ORIGIN_OF_ALL
from services.transport.binding import HttpBinding, Options, stricter
from services.transport.http import decoding, doubled_names, number_parsing, row_hints
from services.transport.http.answer_json import schema as answer_schema
from services.transport.http.answer_json import writer
from services.transport.http.components import PURPOSE_OR_NULL
from services.transport.http.number_parsing import Number
from services.transport.http.predict_body import purpose
from services.transport.http.schema import row_parts
from services.transport.http.struct_schema import documented, variants


class RowsBody(msgspec.Struct, forbid_unknown_fields=True):
    """JSON body of rows: ``columns`` (name to values) or ``rows`` (a list of objects), not both."""

    columns: Annotated[msgspec.Raw, documented("columns")] = msgspec.field(default_factory=msgspec.Raw)
    rows: Annotated[msgspec.Raw, documented("rows")] = msgspec.field(default_factory=msgspec.Raw)
    units: Annotated[dict[str, str], documented("units")] = {}
    purpose: Annotated[str | None, documented(PURPOSE_OR_NULL)] = None
    defer_above: Annotated[float | dict[str, float] | None, documented("defer_above")] = None
    members: Annotated[bool, msgspec.Meta(description="Also return what each member says. Absent: false.")] = False


_VARIANTS = {"ColumnsRequest": ("columns",), "RowsRequest": ("rows",)}


def row_binding(description: Description, intervals: Mapping[str, IntervalTable | None]) -> HttpBinding:
    """Return the HTTP binding of a task whose items are rows."""

    assert description.schema is not None
    names = tuple(head.name for head in description.heads)
    schema = description.schema
    fields = (*ORIGIN_OF_ALL, *head_answer.answered(description.heads), head_answer.SHIFTED_INPUTS)
    write = writer(fields)

    def answer(answers: list[Portion]) -> dict[str, Any]:
        (portion,) = answers
        return write(
            {
                "model": portion.model,
                "profile": portion.profile,
                "recorded": portion.recorded,
                "purpose": portion.purpose,
                **{head: _head(portion, head, intervals[head]) for head in portion.verdicts},
                "shifted_inputs": shifted_inputs(portion.payload.departures(portion.verdicts), description),
            }
        )

    return HttpBinding(
        read_json=lambda body: read(body, names, schema),
        answer_json=answer,
        request_schema=variants(RowsBody, _VARIANTS, row_parts(description)),
        response_schema=answer_schema(fields),
    )


def shifted_inputs(departures: Departures, description: Description) -> dict[str, list[Any]]:
    """Return the inputs that make rows unlike training data, as columns of equal length; unknown numbers are NaN."""
    assert description.schema is not None
    features, columns = description.schema.features, departures.columns.tolist()
    ranges = {column: description.trained_range(column) for column in set(columns)}
    return {
        "row": departures.rows.tolist(),
        "column": [features[column].name for column in columns],
        "unit": [features[column].unit for column in columns],
        "value": departures.values.tolist(),
        "trained_lower": [ranges[column][0] for column in columns],
        "trained_upper": [ranges[column][1] for column in columns],
        "deviations": departures.deviations.tolist(),
        "expected": departures.expected.tolist(),
    }


def read(body: bytes, heads: tuple[str, ...], schema: Schema) -> tuple[RowsRequest, Options]:
    """Read a JSON body as a request for a task of these heads, with columns of this schema.

    Raises:
        InvalidInput: not JSON, not of this form, a duplicate name, or values that are not numbers. Names and ranges
            of columns are checked later, alike for all transports.
    """
    parsed, named = decoding.decoded(
        body, lambda text: _named(text, schema), lambda text, error: row_hints.explain(text, error, schema)
    )
    if unknown := [name for name in parsed.units if name not in named]:
        raise row_hints.unknown_units(unknown, schema)
    columns = tuple(
        Column(name, _narrowed(name, values, schema), parsed.units.get(name, ""))
        for name, values in named.items()
        if name not in schema.metadata
    )
    options = Options(purpose(parsed.purpose), stricter(parsed.defer_above, heads))
    return RowsRequest(Named(columns), parsed.members), options


def _named(body: bytes, schema: Schema) -> tuple[RowsBody, dict[str, list[Number]]]:
    """Return the body, and its columns by name; metadata columns are empty."""
    parsed = msgspec.json.decode(body, type=RowsBody)
    columns, rows = bytes(parsed.columns), bytes(parsed.rows)
    rest = body.replace(columns or rows, b"0", 1) if columns or rows else body
    if rest.count(b":") > 1:
        doubled_names.load(rest)
    if bool(columns) == bool(rows):
        both = 'has "columns" and "rows"' if rows else 'has neither "columns" nor "rows"'
        raise InvalidInput(f"the body {both}; send {row_hints.example(schema)}", code="not_a_body")
    skipped = frozenset(schema.metadata)
    return parsed, _columns(columns, skipped) if columns else _rows(rows, skipped)


def _narrowed(name: str, values: list[Number], schema: Schema) -> Any:
    """Return the values of a column; those of an unknown column are dropped, since its name is refused later."""
    return number_parsing.narrowed(name, values, schema) if name in schema.position else ()


def _columns(raw: bytes, skipped: Collection[str]) -> dict[str, list[Number]]:
    columns = number_parsing.columns(raw, skipped)
    _refuse_doubled(raw, len(columns))
    return columns


def _rows(raw: bytes, skipped: Collection[str]) -> dict[str, list[Number]]:
    rows = number_parsing.rows(raw, skipped)
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


def _refuse_doubled(raw: bytes, names: int) -> None:
    """Refuse duplicate names, of which JSON parsers silently keep the last; extra colons reveal them."""
    if raw.count(b":") != names:
        doubled_names.load(raw)


def _head(portion: Portion, head: str, intervals: IntervalTable | None) -> dict[str, Any]:
    record = head_answer.record(portion, head)
    if "mean" in record:
        record["variance"] = record["total"]
        if intervals is not None:
            record["intervals"] = {"levels": intervals.levels, "multipliers": intervals.multipliers}
        return record
    probabilities = record["probabilities"]
    known = np.isfinite(probabilities).all(axis=1).tolist()
    best = probabilities.argmax(axis=1).tolist()
    record["class"] = [best_class if finite else None for best_class, finite in zip(best, known, strict=True)]
    return record
