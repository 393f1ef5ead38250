"""Packing of rows: from columns by name, or an array, to float32 [N, F] in declared order.

Names, units, lengths and kinds of numbers are checked here, so that a wrong call sends nothing. Ranges and missing
values are the service's to judge: it knows them, and says so in the same error type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from demur._description import Description, Head
from demur._errors import InvalidInput, wrong_argument
from demur._messages import FLOAT32
from demur._numbers import as_array, numbers
from demur._rows.categories import Categories
from demur._rows.columns import Column, Quantity, quantity, read_column
from demur._rows.units import parse

_LIMIT = float(np.finfo(np.float32).max)
_LISTED = 32
"""Columns of a schema that a message lists; of a wider one it names the nearest only."""
_BLOCK = 1024
"""Rows that are packed column by column at a time, so that they stay in the cache."""


class Columns(Protocol):
    """Columns by name: a dict or any other mapping."""

    def keys(self) -> Iterable[Any]:
        """Names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> Any:
        """One column: a scalar, a list, an array or a series."""
        ...


class Frame(Protocol):
    """Columns by name: a data frame of pandas or polars, or a table of pyarrow."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> Any:
        """One column."""
        ...


Rows: TypeAlias = Columns | Frame | ArrayLike
"""Rows of a request: columns by name, or an array [N, F] or [F] in the declared order.

Columns that the service declares as metadata (``describe().metadata``) may come along by name and are
ignored. None, null and ``pandas.NA`` are NaN. A column of booleans is taken as 0 and 1 where these are the only
values that the service declares for it, such as ``gfs_available``; elsewhere it is refused.

Columns that carry a unit are converted to the declared one, or refused: quantities of astropy and pint, arrays of
xarray with an attribute ``units``, fields of pyarrow with such metadata, and durations.
"""

Units: TypeAlias = Mapping[str, str] | None
"""Units of plain columns by name, such as ``{"stw": "m/s"}``; of others it is that of ``describe().units``."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The declared columns and heads of a service, prepared for packing and reading."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    schema_hash: str
    max_rows: int
    known: frozenset[str]
    metadata: tuple[str, ...] = ()
    """Names that may come along and are dropped."""
    flags: frozenset[str] = frozenset()
    """Columns whose only values are 0 and 1."""
    heads: tuple[Head, ...] = ()
    """Heads with the tables of intervals of answers that have none."""
    differences: frozenset[str] = frozenset()
    """Columns of differences of temperatures."""
    sentinels: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Values that mean "missing", of the columns that have such."""
    categories: Mapping[str, Categories] = field(default_factory=dict)
    """Texts of the categorical columns."""
    intervals_digest: int = 0
    """Digest of the tables of ``heads``; 0 where the service does not tell it, and answers have their tables."""
    columns: tuple[Column, ...] = field(init=False)
    """Declaration of each column, in order."""

    @classmethod
    def of(cls, described: Description) -> Layout:
        """Return the layout that a service describes."""
        return cls(
            described.names,
            tuple(feature.unit for feature in described.features),
            described.schema_hash,
            described.max_rows,
            frozenset(described.names),
            described.metadata,
            frozenset(feature.name for feature in described.features if set(feature.values) == {0.0, 1.0}),
            described.heads,
            frozenset(feature.name for feature in described.features if feature.difference),
            {feature.name: feature.sentinels for feature in described.features if feature.sentinels},
            {
                feature.name: Categories(feature.categories, feature.other, feature.nullable)
                for feature in described.features
                if feature.categories
            },
            described.intervals_digest,
        )

    def __post_init__(self) -> None:
        columns = (
            Column(
                name,
                unit,
                name in self.flags,
                name in self.differences,
                self.sentinels.get(name, ()),
                categories=self.categories.get(name),
            )
            for name, unit in zip(self.names, self.units, strict=True)
        )
        object.__setattr__(self, "columns", tuple(columns))

    def declared(self, units: Mapping[str, str]) -> tuple[Column, ...]:
        """Return the columns, with the units that the caller declares for plain values of some."""
        if not units:
            return self.columns
        return tuple(replace(column, caller_unit=units.get(column.name) or None) for column in self.columns)

    @property
    def row_bytes(self) -> int:
        """Bytes of one packed row."""
        return FLOAT32.itemsize * len(self.names)


def pack(rows: Rows, layout: Layout, units: Units = None) -> NDArray[np.float32]:
    """Return rows in the declared order and units, float32 [N, F], C-contiguous; a fitting array is not copied.

    Scalars among columns are repeated for every row; if all are scalars there is one row.

    Args:
        units: units of plain columns, by name; an empty text declares nothing.

    Raises:
        InvalidInput: missing, unknown or doubled columns, unequal lengths, wrong shape, not numbers, a unit that
            does not convert, or beyond what float32 holds.
    """
    check_units(units, layout)
    names = _names(rows)
    if names is None:
        return _from_array(cast(ArrayLike, rows), layout, units or {})
    return _from_columns(cast(Columns, rows), names, layout, units or {})


def check_units(units: Units, layout: Layout) -> None:
    """Check that declared units are texts of columns that exist.

    Raises:
        InvalidInput: they are not.
    """
    if units is None:
        return
    if not isinstance(units, Mapping) or not all(isinstance(unit, str) for unit in units.values()):
        raise wrong_argument("units", units, 'a mapping from column to unit, such as {"stw": "m/s"}')
    for name in units:
        if name not in layout.known and name not in layout.metadata:
            raise _wrong_name(name, "unknown_column", "of units is not a column of this model", layout)


def _names(rows: Rows) -> list[Any] | None:
    """Return the names of the columns, repeated ones too; None for an array."""
    if hasattr(rows, "collect") and not hasattr(rows, "keys"):
        raise InvalidInput(
            f"rows are a {type(rows).__name__}, which holds no values yet; collect() it first",
            code="not_collected",
            field="rows",
        )
    if hasattr(rows, "column_names"):  # of a pyarrow table; its columns are values
        return list(rows.column_names)
    if hasattr(rows, "keys"):
        return list(rows.keys())
    if hasattr(rows, "columns") and hasattr(rows, "__getitem__"):
        return list(rows.columns)
    return None


def _field_units(table: Any) -> dict[str, str]:
    """Return the units that a pyarrow table holds in the metadata of its fields, as ``units`` or ``unit``, by name."""
    units: dict[str, str] = {}
    for part in getattr(table, "schema", None) or () if hasattr(table, "column_names") else ():
        metadata = getattr(part, "metadata", None) or {}
        text = metadata.get(b"units") or metadata.get(b"unit")
        if text:
            units[part.name] = text.decode(errors="replace")
    return units


def _from_columns(
    columns: Columns, column_names: Sequence[Any], layout: Layout, units: Mapping[str, str]
) -> NDArray[np.float32]:
    names = [name for name in column_names if name not in layout.metadata] if layout.metadata else column_names
    if len(names) != len(layout.names) or layout.known != frozenset(names):
        raise _wrong_names(names, layout)
    field_units = _field_units(columns)
    arrays = []
    for column in layout.declared(units):
        values, unit = columns[column.name], field_units.get(column.name)
        arrays.append(read_column(values if unit is None else Quantity(values, unit, parse(unit)), column))
    for name, array in zip(layout.names, arrays, strict=True):
        if array.ndim > 1:
            raise InvalidInput(
                f"column {name!r} has shape {list(array.shape)}; a column is a scalar or has one dimension",
                code="wrong_shape",
                field=name,
                value=str(list(array.shape)),
                allowed="[] or [N]",
            )
    packed = np.empty((_length(arrays, layout), len(arrays)), FLOAT32)
    with np.errstate(over="raise"):
        for start in range(0, len(packed), _BLOCK):
            block = slice(start, start + _BLOCK)
            for position, array in enumerate(arrays):
                try:
                    packed[block, position] = array[block] if array.ndim else array
                except FloatingPointError:
                    raise _too_big(array, layout, position) from None
    return packed


def _from_array(rows: ArrayLike, layout: Layout, units: Mapping[str, str]) -> NDArray[np.float32]:
    source = quantity(rows, "rows")
    array = as_array(rows if source is None else source.values, "rows")
    width = len(layout.names)
    if array.ndim == 1 and array.shape[0] == width:
        array = array.reshape(1, width)
    if array.ndim != 2 or array.shape[1] != width:
        raise _wrong_shape(array.shape, layout)
    array = numbers(array, "rows")
    if source is not None or units:
        parts = (part if source is None else replace(source, values=part) for part in array.T)
        read = [read_column(part, column) for part, column in zip(parts, layout.declared(units), strict=True)]
        array = np.stack(read, axis=1)
    with np.errstate(over="raise"):
        try:
            return np.ascontiguousarray(array, FLOAT32)
        except FloatingPointError:
            position = int(np.argwhere(_overflows(array).any(axis=0))[0, 0])
            raise _too_big(array[:, position], layout, position) from None


def _length(arrays: Sequence[NDArray[Any]], layout: Layout) -> int:
    sized = [(name, len(array)) for name, array in zip(layout.names, arrays, strict=True) if array.ndim]
    if not sized:
        return 1
    first, count = sized[0]
    for name, length in sized:
        if length != count:
            raise InvalidInput(
                f"{name} = {length} rows: must be {count} rows, as in column {first!r}",
                code="unequal_lengths",
                field=name,
                value=str(length),
                unit="rows",
                allowed=str(count),
            )
    return count


def _wrong_names(names: Sequence[Any], layout: Layout) -> InvalidInput:
    """Return the error of the first wrong name, as the service would report it."""
    for position, name in enumerate(names):
        if name in names[:position]:
            return _wrong_name(name, "doubled_column", "is given twice; give each column once", layout)
        if name not in layout.known:
            return _wrong_name(name, "unknown_column", "is not a column of this model", layout)
    missing = [name for name in layout.names if name not in names]
    problem = f"is missing (all missing: {', '.join(missing[:_LISTED])}"
    problem += f" and {len(missing) - _LISTED} more)" if len(missing) > _LISTED else ")"
    return _wrong_name(missing[0], "missing_column", problem, layout)


def _wrong_name(name: Any, code: str, problem: str, layout: Layout) -> InvalidInput:
    columns = {known: f"{known} ({unit})" for known, unit in zip(layout.names, layout.units, strict=True)}
    if len(columns) <= _LISTED:
        allowed = f"the columns are {', '.join(columns.values())}"
    else:
        nearest = [columns[known] for known in get_close_matches(str(name), layout.names) if known != name]
        similar = f"; similar ones are {', '.join(nearest)}" if nearest else ""
        allowed = f"describe() names the {len(columns)} columns{similar}"
    return InvalidInput(
        f"column {name!r} {problem}; {allowed}",
        code=code,
        field=str(name),
        allowed=", ".join(layout.names),
    )


def _wrong_shape(shape: tuple[int, ...], layout: Layout) -> InvalidInput:
    width, more = len(layout.names), len(layout.metadata)
    if width > _LISTED:
        columns = "describe() names the columns in order"
    else:
        columns = f"the columns in order: {', '.join(layout.names)}"
    if more and len(shape) in (1, 2) and shape[-1] == width + more:
        rest = f"rows[{':, ' if len(shape) == 2 else ''}{more}:]"
        columns = (
            f"they seem to hold the {more} metadata columns too ({', '.join(layout.metadata)}): "
            f"pass columns by name, or {rest} where the metadata stand first"
        )
    return InvalidInput(
        f"rows have shape {list(shape)}, not [N, {width}] or [{width}]; {columns}",
        code="wrong_shape",
        field="rows",
        value=str(list(shape)),
        allowed=f"[N, {width}] or [{width}]",
    )


def _overflows(array: NDArray[Any]) -> NDArray[np.bool_]:
    wide = np.asarray(array, np.float64)
    return np.isfinite(wide) & (np.abs(wide) > _LIMIT)


def _too_big(column: NDArray[Any], layout: Layout, position: int) -> InvalidInput:
    column = np.atleast_1d(column)
    index = int(np.argmax(_overflows(column)))
    name, unit = layout.names[position], layout.units[position]
    return InvalidInput(
        f"{name} = {column[index]:g} {unit} in row {index} is out of range: float32 holds {-_LIMIT:g} to "
        f"{_LIMIT:g}; correct the value or drop the row",
        code="out_of_range",
        field=name,
        value=f"{column[index]:g}",
        unit=unit,
        allowed=f"[{-_LIMIT:g}, {_LIMIT:g}]",
        index=index,
    )
