"""The JSON bodies of tabular tasks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, get_args

import msgspec
import numpy as np

from models.calibration import IntervalTable
from models.familiarity import Departures
from models.predictive import Categorical, Gaussian
from models.schema import Schema
from services.ledger.contract import Portion, Purpose
from services.policy.decision import Decision, Shift
from services.request.pipeline import Description
from services.request.row_task import Named, RowsRequest, shown
from services.request.validate import Column
from services.runtime.errors import InvalidInput, shortened
from services.transport.binding import HttpBinding, Options, stricter
from services.transport.http import decoding, doubled_names, numbers, row_hints
from services.transport.http.numbers import Number
from services.transport.http.schema import row_request_schema, row_response_schema


class RowsBody(msgspec.Struct, forbid_unknown_fields=True):
    """``columns`` (name to values) or ``rows`` (a list of objects), not both."""

    columns: msgspec.Raw = msgspec.Raw(b"")
    rows: msgspec.Raw = msgspec.Raw(b"")
    units: dict[str, str] = {}
    purpose: str | None = None
    defer_above: float | dict[str, float] | None = None
    members: bool = False


def row_binding(description: Description, intervals: Mapping[str, IntervalTable | None]) -> HttpBinding:
    """JSON in, JSON out, for a task whose items are rows."""

    assert description.schema is not None
    names = tuple(head.name for head in description.heads)
    schema = description.schema

    def answer(answers: list[Portion]) -> dict[str, Any]:
        (portion,) = answers
        found = {head: _head(portion, head, intervals[head]) for head in portion.verdicts}
        return {
            "model": portion.model,
            "profile": portion.profile,
            "recorded": portion.recorded,
            "purpose": portion.purpose,
            **found,
            "shifted_inputs": shifted_inputs(portion.payload.departures(portion.verdicts), description),
        }

    return HttpBinding(
        read_json=lambda body: read(body, names, schema),
        answer_json=answer,
        request_schema=row_request_schema(description),
        response_schema=row_response_schema(description),
    )


def shifted_inputs(departures: Departures, description: Description) -> dict[str, list[Any]]:
    """Inputs that make rows unlike training, as columns of equal length; numbers that are not known are null."""
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
    """A JSON body as a request for a task of these heads, with columns of this schema.

    Raises:
        InvalidInput: not JSON, not of this form, a doubled name, or values that are no numbers. Names and ranges
            of columns are checked later, alike for all transports.
    """
    parsed, named = decoding.decoded(
        body, lambda text: _named(text, schema), lambda text, error: row_hints.explain(text, error, schema)
    )
    if unknown := [name for name in parsed.units if name not in named]:
        raise row_hints.unknown_units(unknown, schema)
    given = tuple(
        Column(name, _narrowed(name, values, schema), parsed.units.get(name, ""))
        for name, values in named.items()
        if name not in schema.metadata
    )
    options = Options(purpose(parsed.purpose), stricter(parsed.defer_above, heads))
    return RowsRequest(Named(given), parsed.members), options


def _named(body: bytes, schema: Schema) -> tuple[RowsBody, dict[str, list[Number]]]:
    """The body, and its columns by name; those of metadata are empty."""
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
    """An unknown column, of which there may be a million, is refused later by its name: nobody looks at its values."""
    return numbers.narrowed(name, values, schema) if name in schema.position else ()


def purpose(given: str | None) -> Purpose | None:
    """Why the caller asks; None: the transport's default.

    Raises:
        InvalidInput: a word that is no purpose.
    """
    known: tuple[Purpose, ...] = get_args(Purpose)
    for one in known:
        if given == one:
            return one
    if given is None:
        return None
    raise InvalidInput(
        f"purpose = {given[:60]!r} is unknown; use {', '.join(known)}",
        code="unknown_purpose",
        field="purpose",
        value=given[:60],
        allowed=", ".join(known),
    )


def _columns(raw: bytes, skipped: Collection[str]) -> dict[str, list[Number]]:
    columns = numbers.columns(raw, skipped)
    _refuse_doubled(raw, len(columns))
    return columns


def _rows(raw: bytes, skipped: Collection[str]) -> dict[str, list[Number]]:
    rows = numbers.rows(raw, skipped)
    _refuse_doubled(raw, sum(map(len, rows)))
    if not rows:
        raise InvalidInput("the request holds no rows; send at least one", code="no_rows", field="rows", value="0")
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
    """JSON parsers keep the last of two equal names in silence; a colon more than names gives it away."""
    if raw.count(b":") != names:
        doubled_names.load(raw)


def _head(portion: Portion, head: str, intervals: IntervalTable | None) -> dict[str, Any]:
    predictive = portion.predictives[head]
    if isinstance(predictive, Gaussian):
        return _gaussian(portion, head, predictive, intervals)
    if isinstance(predictive, Categorical):
        return _categorical(portion, head, predictive)
    raise TypeError(f"no JSON for a {type(predictive).__name__} head")


def _gaussian(portion: Portion, head: str, predictive: Gaussian, intervals: IntervalTable | None) -> dict[str, Any]:
    mean, total, data, knowledge = shown(predictive, portion.verdicts[head])
    found = {
        "mean": mean.tolist(),
        "variance": total.tolist(),
        "total": total.tolist(),
        "data": data.tolist(),
        "knowledge": None if knowledge is None else knowledge.tolist(),
        **_decided(portion, head),
    }
    if intervals is not None:
        found["intervals"] = {"levels": intervals.levels, "multipliers": intervals.multipliers}
    if members := _members(portion, head):
        found["member_means"], found["member_variances"] = (values.tolist() for values in members)
    return found


def _categorical(portion: Portion, head: str, predictive: Categorical) -> dict[str, Any]:
    probabilities, total, data, knowledge = shown(predictive, portion.verdicts[head])
    told = np.isfinite(probabilities).all(axis=1).tolist()
    best = probabilities.argmax(axis=1).tolist()
    found = {
        "class": [one if known else None for one, known in zip(best, told, strict=True)],
        "probabilities": probabilities.tolist(),
        "total": total.tolist(),
        "data": None if data is None else data.tolist(),
        "knowledge": None if knowledge is None else knowledge.tolist(),
        **_decided(portion, head),
    }
    if members := _members(portion, head):
        found["member_probabilities"] = members[0].transpose(0, 2, 1).tolist()
    return found


def _decided(portion: Portion, head: str) -> dict[str, Any]:
    """How the units of a head were decided."""
    verdict, ids = portion.verdicts[head], portion.ids[head]
    return {
        "measure": verdict.policy.measure,
        "uncertainty": verdict.uncertainty.tolist(),
        "threshold": verdict.policy.threshold if np.isfinite(verdict.policy.threshold) else None,
        "decision": [_DECISIONS[value] for value in verdict.decisions.tolist()],
        "deferred": (verdict.decisions != Decision.ANSWER).tolist(),
        "shifted": [_REASONS[value] for value in verdict.shifts.tolist()],
        "policy": verdict.policy.version,
        "prediction_ids": [ids.text(index) for index in range(ids.count)],
    }


def _members(portion: Portion, head: str) -> tuple[Any, ...]:
    """What members say, where it was asked for; a member's word gives a hidden prediction away."""
    return () if portion.verdicts[head].policy.withhold else portion.payload.members.get(head, ())


_DECISIONS = {decision.value: decision.name for decision in Decision}
_REASONS = {bits: [reason.name.lower() for reason in Shift if bits & reason] for bits in range(16)}  # type: ignore[union-attr]
