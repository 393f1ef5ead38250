"""Validation of rows from the wire to float32 [N, F] against the schema, before any model runs.

Every error names field, value, unit, allowed range and remedy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from models.schema import Feature, Schema
from services.runtime.errors import InvalidInput, TooLarge, shortened

Rows = NDArray[np.float32]
LISTED = 32
"""Maximum number of columns that an error names."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a request; its unit is checked if the caller states it."""

    name: str
    values: Sequence[float] | NDArray[np.float32]
    unit: str = ""


def packed(schema: Schema, row_count: int, values: bytes, schema_hash: str, max_rows: int) -> Rows:
    """Return row-major little-endian float32 as a read-only view [N, F], without a copy.

    Raises:
        InvalidInput: another schema, no rows, or a length that is not row_count * F * 4 bytes.
        TooLarge: more than ``max_rows`` rows.
    """
    if schema_hash and schema_hash != schema.hash:
        raise InvalidInput(
            f"rows were packed for schema {schema_hash}, this model declares {schema.hash}: "
            f"pack {len(schema)} columns in the order {_order(schema)}",
            code="schema_mismatch",
            field="schema_hash",
            value=schema_hash,
            allowed=schema.hash,
        )
    _check_count(row_count, max_rows)
    expected = row_count * len(schema) * 4
    if len(values) != expected:
        raise InvalidInput(
            f"packed values hold {len(values)} bytes, but {row_count} rows of {len(schema)} float32 columns "
            f"are {expected} bytes; {_width(schema, row_count, len(values))}",
            code="wrong_length",
            field="values",
            value=str(len(values)),
            unit="bytes",
            allowed=str(expected),
        )
    return check(schema, np.frombuffer(values, "<f4").reshape(row_count, len(schema)))


def columns(schema: Schema, given: Iterable[Column], max_rows: int) -> Rows:
    """Return named columns in any order as rows [N, F] in schema order.

    Raises:
        InvalidInput: a missing, unknown or doubled column, other units, unequal lengths, no rows, or a
            value out of range.
        TooLarge: more than ``max_rows`` rows.
    """
    by_name: dict[str, Column] = {}
    wrong_units: list[tuple[Column, str]] = []
    for column in given:
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
            raise InvalidInput(
                f"column {name!r} has {len(values)} values, {schema.names[0]!r} has {count}; give every column "
                "the same number of rows",
                code="unequal_lengths",
                field=name,
                value=str(len(values)),
                unit="rows",
                allowed=str(count),
            )
        with np.errstate(over="ignore"):
            rows[:, index] = values
    return check(schema, rows)


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


def possible(schema: Schema, rows: Rows) -> NDArray[np.bool_] | None:
    """Return which values of rows [N, F] are possible or a documented missing value, bool [N, F]; None if all are."""
    fine = (rows >= schema.lower) & (rows <= schema.upper)
    for position, values in schema.enumerated:
        fine[:, position] &= np.isin(rows[:, position], values)
    if fine.all():
        return None
    fine |= np.isnan(rows) & schema.nullable
    for position, sentinel in schema.sentinels:
        fine[:, position] |= rows[:, position] == sentinel
    return None if fine.all() else fine


def refusal(schema: Schema, rows: Rows, fine: NDArray[np.bool_], row: int) -> InvalidInput:
    """Return the error of the first value of a row that is not possible.

    Args:
        fine: result of ``possible``.
    """
    position = int(np.argmin(fine[row]))
    feature = schema.features[position]
    value = float(rows[row, position])
    wrong = fine.size - int(np.count_nonzero(fine))
    more = f" ({wrong - 1} more values are refused)" if wrong > 1 else ""
    finite = np.isfinite(value)
    reason = "is out of range" if finite else "is not a finite number"
    words, short = allowed(feature)
    return InvalidInput(
        f"{feature.name} = {value:g}{feature.unit_text} in row {row} {reason}: allowed are {words}; correct the value "
        f"or drop the row{more}",
        code="out_of_range" if finite else "not_finite",
        field=feature.name,
        value=f"{value:g}",
        unit=feature.unit,
        allowed=short,
        index=row,
    )


def outside(rows: Rows, lower: NDArray[np.float32], upper: NDArray[np.float32], schema: Schema) -> NDArray[np.bool_]:
    """Return whether rows [N] have a value outside the range [F] seen in training; missing values are never outside."""
    beyond = (rows < lower) | (rows > upper)
    for position, value in schema.sentinels:
        beyond[:, position] &= rows[:, position] != value
    return np.asarray(beyond.any(axis=1))


def allowed(feature: Feature) -> tuple[str, str]:
    """Return the allowed values of a feature, as a phrase and in short form."""
    words = f"{feature.lower:g} to {feature.upper:g}{feature.unit_text}"
    short = f"[{feature.lower:g}, {feature.upper:g}]"
    if feature.values:
        words = short = ", ".join(f"{value:g}" for value in feature.values)
    if missing := [*(["NaN"] if feature.nullable else []), *(f"{value:g}" for value in feature.sentinels)]:
        words += f" (missing: {' or '.join(missing)})"
    return words, short


def _width(schema: Schema, row_count: int, nbytes: int) -> str:
    """Return advice on a wrong width of packed rows."""
    given, rest = divmod(nbytes, 4 * row_count)
    if rest or given == len(schema):
        return "check row_count and the column order"
    if schema.metadata and given == len(schema) + len(schema.metadata):
        return (
            f"these are rows of {given} columns: leave out {', '.join(schema.metadata)}, which are no features, or "
            "send columns by name"
        )
    return f"these are rows of {given} columns: send the {len(schema)} declared ones in their order, or columns by name"


def _check_count(count: int, max_rows: int) -> None:
    if count < 1:
        raise InvalidInput("the request holds no rows; send at least one", code="no_rows", field="rows", value="0")
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
        told = [f"{one.name!r} in {shortened(one.unit, 40)!r} (takes {takes!r})" for one, takes in wrong[:LISTED]]
        more = f" and {len(wrong) - LISTED} more" if len(wrong) > LISTED else ""
        message = f"{len(wrong)} columns are given in other units than this model takes: {', '.join(told)}{more}; "
        message += "convert them"
    return InvalidInput(message, code="wrong_unit", field=first.name, value=first.unit, unit=unit, allowed=unit)


def _name_error(name: str, code: str, problem: str, schema: Schema) -> InvalidInput:
    """Return the error for a column's name; a wide schema is not listed, since an error travels in a header."""
    name = shortened(name)
    columns = {feature.name: f"{feature.name} ({feature.unit})" for feature in schema.features}
    if len(columns) <= LISTED:
        told = f"the columns are {', '.join(columns.values())}"
    else:
        near = [columns[known] for known in get_close_matches(name, schema.names) if known != name]
        similar = f"; similar ones are {', '.join(near)}" if near else ""
        told = f"describe() names the {len(columns)} columns{similar}"
    return InvalidInput(f"column {name!r} {problem}; {told}", code=code, field=name, allowed=", ".join(schema.names))


def _order(schema: Schema) -> str:
    return ", ".join(schema.names) if len(schema) <= LISTED else "that describe() tells"
