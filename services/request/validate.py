"""Validation of rows from the wire to float32 [N, F] against the schema, before any model runs.

Every error names field, value, unit, allowed range and remedy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.inputs.check import possible
from models.schema import Feature, Schema
from services.runtime.errors import InvalidInput, TooLarge, shortened

Rows = NDArray[np.float32]
LISTED = 32
"""Maximum number of columns that an error names."""
SHOWN_CATEGORIES = 10
"""Maximum number of categories that an error names."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a request; its unit is checked if the caller states it."""

    name: str
    values: Sequence[float] | NDArray[np.float32] | Sequence[str | None]
    """Numbers, or texts of a categorical column; None is a missing text."""
    unit: str = ""


def packed(schema: Schema, row_count: int, values: bytes, schema_hash: str, max_rows: int) -> Rows:
    """Return checked rows; see ``packed_rows`` and ``check``."""
    return check(schema, packed_rows(schema, row_count, values, schema_hash, max_rows))


def packed_rows(schema: Schema, row_count: int, values: bytes, schema_hash: str, max_rows: int) -> Rows:
    """Return row-major little-endian float32 as a read-only view [N, F], without a copy; values are not checked.

    Raises:
        InvalidInput: another schema, no rows, or a length that is not row_count * F * 4 bytes.
        TooLarge: more than ``max_rows`` rows.
    """
    if schema_hash and schema_hash != schema.hash:
        raise InvalidInput.about(
            "schema_hash",
            schema_hash,
            code="schema_mismatch",
            allowed=schema.hash,
            advice=f"pack {len(schema)} columns in the order {_order(schema)}",
        )
    _check_count(row_count, max_rows)
    expected = row_count * len(schema) * 4
    if len(values) != expected:
        raise InvalidInput.about(
            "values",
            len(values),
            f"must be {expected} bytes for {row_count} rows of {len(schema)} float32 columns",
            code="wrong_length",
            unit="bytes",
            allowed=str(expected),
            advice=_width(schema, row_count, len(values)),
        )
    return np.frombuffer(values, "<f4").reshape(row_count, len(schema))


def named_rows(schema: Schema, sent: Iterable[Column], max_rows: int) -> Rows:
    """Return named columns in any order as rows [N, F] in schema order; values are not checked.

    Raises:
        InvalidInput: a missing, unknown or doubled column, other units, unequal lengths, or no rows.
        TooLarge: more than ``max_rows`` rows.
    """
    by_name: dict[str, Column] = {}
    wrong_units: list[tuple[Column, str]] = []
    for column in sent:
        if column.name in by_name:
            raise _name_error(column.name, "doubled_column", "is given twice; give each column once", schema)
        if column.name in schema.metadata:
            by_name[column.name] = column
            continue
        if column.name not in schema.position:
            raise _name_error(column.name, "unknown_column", "is not a column of this model", schema)
        expected = schema.features[schema.position[column.name]].unit
        if column.unit and column.unit != expected:
            wrong_units.append((column, expected))
        by_name[column.name] = column
    if wrong_units:
        raise _unit_error(wrong_units)
    missing = [name for name in schema.names if name not in by_name]
    if missing:
        listed = ", ".join(missing[:LISTED]) + (f" and {len(missing) - LISTED} more" if len(missing) > LISTED else "")
        raise _name_error(missing[0], "missing_column", f"is missing (all missing: {listed})", schema)
    count = len(by_name[schema.names[0]].values)
    _check_count(count, max_rows)
    rows = np.empty((count, len(schema)), np.float32)
    for index, name in enumerate(schema.names):
        values = by_name[name].values
        if len(values) != count:
            raise InvalidInput.about(
                name,
                len(values),
                f"must be {count} rows, as in column {schema.names[0]!r}",
                code="unequal_lengths",
                unit="rows",
                allowed=str(count),
            )
        with np.errstate(over="ignore"):
            rows[:, index] = values if index not in schema.codes else codes(schema, index, values)
    return rows


def codes(schema: Schema, column: int, texts: Iterable[Any]) -> list[float]:
    """Return the codes of the texts of a categorical column; a missing value is NaN.

    Raises:
        InvalidInput: a text that is no category of a column that takes no others, a number, or a missing value in a
            column without.
    """
    known, feature = schema.codes[column], schema.features[column]
    try:
        return [known[text] for text in texts]
    except (KeyError, TypeError):
        return [known[text] if text in known else _other(feature, text, row) for row, text in enumerate(texts)]


def _other(feature: Feature, value: object, row: int) -> float:
    """Return the code of a text that is no category; refuse it if the column takes no others."""
    if isinstance(value, str) and feature.other:
        return float(len(feature.categories))
    if value is None:
        raise value_error(feature, "null", row, "not_finite")
    if not isinstance(value, str):
        raise value_error(feature, f"{value:g}" if isinstance(value, float) else str(value), row, "not_a_text")
    near = get_close_matches(value, feature.categories, 1)
    hint = f"; {near[0]!r} is similar" if near else ""
    raise value_error(feature, shortened(value), row, "unknown_category", hint)


def check(schema: Schema, rows: Rows) -> Rows:
    """Return rows [N, F] unchanged if every value is physically possible.

    Documented missing values pass: NaN if the column is nullable, and sentinels.

    Raises:
        InvalidInput: the first value that is NaN, infinite, outside its closed range, or not one of few possible ones.
    """
    fine = possible(schema, rows)
    if fine is None:
        return rows
    raise refusal(schema, rows, fine, int(np.argmin(fine.all(axis=1))))


def refusal(schema: Schema, rows: Rows, fine: NDArray[np.bool_], row: int) -> InvalidInput:
    """Return the error of the first value of a row that is not possible.

    Args:
        fine: result of ``models.inputs.check.possible``.
    """
    position = int(np.argmin(fine[row]))
    feature = schema.features[position]
    value = float(rows[row, position])
    wrong = fine.size - int(np.count_nonzero(fine))
    more = f" ({wrong - 1} more values are refused)" if wrong > 1 else ""
    code = "out_of_range" if np.isfinite(value) else "not_finite"
    return value_error(feature, f"{value:g}", row, code, more)


def value_error(feature: Feature, text: str, row: int, code: str, more: str = "") -> InvalidInput:
    """Return the error for a value that a feature does not allow.

    Args:
        text: the value, as the error quotes it.
        more: addition to the message, with a blank before it.
    """
    words, allowed = _allowed(feature)
    return InvalidInput.about(
        feature.name,
        text,
        f"must be {words} in row {row}",
        code=code,
        unit="" if feature.categories else feature.unit,
        allowed=allowed,
        advice=f"correct the value or drop the row{more}",
        index=row,
    )


def _allowed(feature: Feature) -> tuple[str, str]:
    """Return the allowed values of a feature, as a phrase and in short form."""
    words = f"{feature.lower:g} to {feature.upper:g}{feature.unit_text}"
    short = f"[{feature.lower:g}, {feature.upper:g}]"
    if feature.categories:
        short = ", ".join(feature.categories[:SHOWN_CATEGORIES])
        if (more := len(feature.categories) - SHOWN_CATEGORIES) > 0:
            short += f" and {more} more"
        words = f"a text, one of {short} (packed: a code, 0 to {feature.upper:g})"
    elif feature.values:
        short = ", ".join(f"{value:g}" for value in feature.values)
        words = f"one of {short}"
    if missing := [*(["NaN"] if feature.nullable else []), *(f"{value:g}" for value in feature.sentinels)]:
        words += f" (missing: {' or '.join(missing)})"
    return words, short


def _width(schema: Schema, row_count: int, nbytes: int) -> str:
    """Return advice on a wrong width of packed rows."""
    width, rest = divmod(nbytes, 4 * row_count)
    if rest or width == len(schema):
        return "check row_count and the column order"
    if schema.metadata and width == len(schema) + len(schema.metadata):
        return (
            f"these are rows of {width} columns: leave out {', '.join(schema.metadata)}, which are no features, or "
            "send columns by name"
        )
    return f"these are rows of {width} columns: send the {len(schema)} declared ones in their order, or columns by name"


def no_rows() -> InvalidInput:
    """Return the error for a request without rows."""
    return InvalidInput.about("rows", 0, "must be at least 1", code="no_rows")


def _check_count(count: int, max_rows: int) -> None:
    if count < 1:
        raise no_rows()
    if count > max_rows:
        raise TooLarge.about(
            "rows",
            count,
            code="too_many_rows",
            unit="rows",
            allowed=f"[1, {max_rows}]",
            advice="send them as a stream, which has no limit",
        )


def _unit_error(wrong: Sequence[tuple[Column, str]]) -> InvalidInput:
    """Return the error for columns in wrong units; each is paired with the expected unit, and all are named."""
    first, unit = wrong[0]
    message = f"column {first.name!r} is given in {shortened(first.unit)!r}, this model takes {unit!r}; convert it"
    if len(wrong) > 1:
        listed = [
            f"{feature.name!r} in {shortened(feature.unit, 40)!r} (takes {takes!r})"
            for feature, takes in wrong[:LISTED]
        ]
        more = f" and {len(wrong) - LISTED} more" if len(wrong) > LISTED else ""
        message = f"{len(wrong)} columns are given in other units than this model takes: {', '.join(listed)}{more}; "
        message += "convert them"
    return InvalidInput(message, code="wrong_unit", field=first.name, value=first.unit, unit=unit, allowed=unit)


def _name_error(name: str, code: str, problem: str, schema: Schema) -> InvalidInput:
    """Return the error for a column's name; a wide schema is not listed, since an error travels in a header."""
    name = shortened(name)
    columns = {feature.name: f"{feature.name} ({feature.unit})" for feature in schema.features}
    if len(columns) <= LISTED:
        known_columns = f"the columns are {', '.join(columns.values())}"
    else:
        near = [columns[known] for known in get_close_matches(name, schema.names) if known != name]
        similar = f"; similar ones are {', '.join(near)}" if near else ""
        known_columns = f"describe() names the {len(columns)} columns{similar}"
    return InvalidInput(
        f"column {name!r} {problem}; {known_columns}", code=code, field=name, allowed=", ".join(schema.names)
    )


def _order(schema: Schema) -> str:
    return ", ".join(schema.names) if len(schema) <= LISTED else "that describe() tells"
