"""From what callers have (columns by name, or an array) to packed rows, float32 [N, F] in declared order.

Names, lengths and kinds of numbers are checked here, so that a wrong call sends nothing. Ranges and missing
values are the service's to judge: it knows them, and says so in the same error type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import ArrayLike, NDArray

from demur._describe import Description
from demur._errors import InvalidInput

FLOAT32 = np.dtype("<f4")
_LIMIT = float(np.finfo(np.float32).max)


class Columns(Protocol):
    """Columns by name: a dict, any other mapping, or a data frame."""

    def keys(self) -> Iterable[Any]:
        """Names of the columns."""
        ...

    def __getitem__(self, name: str, /) -> Any:
        """One column: a scalar, a list, an array or a series."""
        ...


Rows: TypeAlias = Columns | ArrayLike
"""What can be asked about: columns by name, or an array [N, F] or [F] in the declared order."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The declared columns of a service, prepared for packing."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    schema_hash: str
    max_rows: int
    known: frozenset[str]

    @classmethod
    def of(cls, described: Description) -> Layout:
        return cls(
            described.names,
            tuple(feature.unit for feature in described.features),
            described.schema_hash,
            described.max_rows,
            frozenset(described.names),
        )

    @property
    def row_bytes(self) -> int:
        """Bytes of one packed row."""
        return FLOAT32.itemsize * len(self.names)


def pack(rows: Rows, layout: Layout) -> NDArray[np.float32]:
    """Rows in the declared order, float32 [N, F], C-contiguous; a fitting array is taken as it is.

    Scalars among columns are repeated for every row; if all are scalars there is one row.

    Raises:
        InvalidInput: missing, unknown or doubled columns, unequal lengths, wrong shape, not numbers, or
            beyond what float32 holds.
    """
    if hasattr(rows, "keys"):
        return _from_columns(cast(Columns, rows), layout)
    return _from_array(rows, layout)


def _from_columns(columns: Columns, layout: Layout) -> NDArray[np.float32]:
    names = tuple(columns.keys())
    if len(names) != len(layout.names) or layout.known != frozenset(names):
        raise _wrong_names(names, layout)
    arrays = [_numbers(columns[name], name, unit) for name, unit in zip(layout.names, layout.units, strict=True)]
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
        for position, array in enumerate(arrays):
            try:
                packed[:, position] = array
            except FloatingPointError:
                raise _too_big(array, layout, position) from None
    return packed


def _from_array(rows: ArrayLike, layout: Layout) -> NDArray[np.float32]:
    width = len(layout.names)
    array = _numbers(rows, "rows", None)
    if array.ndim == 1 and array.shape[0] == width:
        array = array.reshape(1, width)
    if array.ndim != 2 or array.shape[1] != width:
        raise InvalidInput(
            f"rows have shape {list(array.shape)}, not [N, {width}] or [{width}]; "
            f"the columns in order: {', '.join(layout.names)}",
            code="wrong_shape",
            field="rows",
            value=str(list(array.shape)),
            allowed=f"[N, {width}] or [{width}]",
        )
    with np.errstate(over="raise"):
        try:
            return np.ascontiguousarray(array, FLOAT32)
        except FloatingPointError:
            position = int(np.argwhere(_overflows(array).any(axis=0))[0, 0])
            raise _too_big(array[:, position], layout, position) from None


def _numbers(values: Any, name: str, unit: str | None) -> NDArray[Any]:
    """Real numbers as an array of any shape; masked entries become NaN."""
    if isinstance(values, MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidInput(
            f"{name} holds lists of unequal lengths", code="wrong_shape", field=name, unit=unit
        ) from None
    if array.dtype.kind in "fiu":
        return array
    if array.dtype.kind == "O" and not any(isinstance(value, (str, bytes, bool)) for value in array.flat):
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    raise InvalidInput(
        f"{name} holds {array.dtype} values, not real numbers",
        code="not_numbers",
        field=name,
        value=str(array.dtype),
        unit=unit,
        allowed="real numbers",
    )


def _length(arrays: Sequence[NDArray[Any]], layout: Layout) -> int:
    sized = [(name, len(array)) for name, array in zip(layout.names, arrays, strict=True) if array.ndim]
    if not sized:
        return 1
    first, count = sized[0]
    for name, length in sized:
        if length != count:
            raise InvalidInput(
                f"column {name!r} has {length} values, {first!r} has {count}; give every column the same "
                "number of rows",
                code="unequal_lengths",
                field=name,
                value=str(length),
                unit="rows",
                allowed=str(count),
            )
    return count


def _wrong_names(names: Sequence[Any], layout: Layout) -> InvalidInput:
    """The first wrong name, in the words of the service."""
    for position, name in enumerate(names):
        if name in names[:position]:
            return _wrong_name(name, "doubled_column", "is given twice; give each column once", layout)
        if name not in layout.known:
            return _wrong_name(name, "unknown_column", "is not a column of this model", layout)
    missing = [name for name in layout.names if name not in names]
    problem = f"is missing (all missing: {', '.join(missing)})"
    return _wrong_name(missing[0], "missing_column", problem, layout)


def _wrong_name(name: Any, code: str, problem: str, layout: Layout) -> InvalidInput:
    columns = ", ".join(f"{known} ({unit})" for known, unit in zip(layout.names, layout.units, strict=True))
    return InvalidInput(
        f"column {name!r} {problem}; the columns are {columns}",
        code=code,
        field=str(name),
        allowed=", ".join(layout.names),
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
