"""Values of one column, as numbers in the unit that the service declares.

Values that carry a unit are recognised without importing the libraries that make them. Quantities of astropy and pint
(also within xarray and pandas) are recognised by their classes and converted to base units by their own library;
attributes ``units`` of xarray, pandas and h5py are parsed.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._errors import InvalidInput
from demur._numbers import as_array, is_null, numbers
from demur._rows.categories import Categories, coded
from demur._rows.units import Unit, conversion, examples, parse

_PLAIN = frozenset({np.ndarray, list, tuple, float, int, bool, str, type(None)})
"""Types of values that carry no unit."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Values with the unit that they carry."""

    values: Any
    text: str
    """The unit as its source writes it."""
    unit: Unit | None
    """None if it is unknown, or not a multiple of base units."""


def quantity(values: Any, name: str) -> Quantity | None:
    """Return the values of a column with the unit that they carry; None if they carry none.

    Args:
        values: a scalar, list, array or series.
        name: the column, for attributes that name units by column.
    """
    kind = type(values)
    if kind in _PLAIN:
        return None
    if kind is Quantity:
        return values  # type: ignore[no-any-return]
    if hasattr(kind, "magnitude") and hasattr(kind, "to_root_units"):
        return _pint(values)
    if hasattr(kind, "unit") and hasattr(getattr(values, "unit", None), "decompose"):
        return _astropy(values)
    inner = values.data if hasattr(kind, "dims") else getattr(getattr(values, "array", None), "quantity", None)
    if hasattr(type(inner), "to_root_units"):  # pint within xarray, pint-pandas
        return _pint(inner)
    unit = getattr(values, "units", None) if isinstance(values, np.ndarray) else None
    if unit is not None:  # such as unyt
        return Quantity(np.asarray(values), str(unit), parse(str(unit)))
    return _attributed(values, name)


def carries_unit(kind: type) -> bool:
    """Return whether values of this type are quantities, for elements of a list."""
    return (hasattr(kind, "magnitude") and hasattr(kind, "to_root_units")) or (
        hasattr(kind, "unit") and hasattr(kind, "to_value")
    )


def _pint(values: Any) -> Quantity:
    text, unit = str(values.units), None
    try:
        zero, unity, two = (type(values)(number, values.units).to_root_units() for number in (0.0, 1.0, 2.0))
        root = parse(str(unity.units) or "1")
        factor, offset = float(unity.magnitude - zero.magnitude), float(zero.magnitude)
        linear = bool(np.isclose(two.magnitude - unity.magnitude, factor, rtol=1e-9, atol=0.0))
    except Exception:  # the library, or the caller's own unit registry, may raise anything
        root, linear = None, False
    if root is not None and linear:
        difference = True if "delta_" in text else False if offset else None
        unit = replace(root, factor=factor * root.factor, offset=offset, difference=difference)
    return Quantity(values.magnitude, text or "dimensionless", unit)


def _astropy(values: Any) -> Quantity:
    unmasked = getattr(values, "unmasked", None)  # of astropy.utils.masked
    bare = np.asarray(values.view(np.ndarray) if unmasked is None else unmasked.view(np.ndarray))
    if unmasked is not None:
        bare = np.ma.array(bare, mask=np.asarray(values.mask))
    elif isinstance(values, np.ma.MaskedArray):
        bare = np.ma.array(bare, mask=np.ma.getmaskarray(values))
    text, unit = str(values.unit), None
    try:
        base = values.unit.decompose()
        scale = float(base.scale)
        if len(base.bases) == 1 and base.powers[0] == 1 and scale == 1.0:  # a temperature keeps its zero point
            unit = parse(str(base.bases[0]))
        else:
            powers = (f"{part}**{int(power)}" for part, power in zip(base.bases, base.powers, strict=True))
            parsed = parse(" ".join(powers) or "1") if all(power == int(power) for power in base.powers) else None
            unit = None if parsed is None else replace(parsed, factor=parsed.factor * scale)
    except Exception:  # logarithmic units, such as magnitudes, are not multiples of base units
        unit = None
    return Quantity(bare, text or "dimensionless", unit)


def _attributed(values: Any, name: str) -> Quantity | None:
    """Read the attribute ``units`` of the CF conventions, or ``unit``; an empty text declares nothing."""
    attributes: Any = getattr(values, "attrs", None)
    if not hasattr(attributes, "get"):
        return None
    text = attributes.get("units")
    if text is None:
        text = attributes.get("unit")
    if isinstance(text, Mapping):  # of a data frame, which hands its attributes to its columns
        text = text.get(name)
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    if not isinstance(text, str) or not text.strip():
        return None
    unit = parse(text)
    meaning = attributes.get("units_metadata")  # CF 1.11
    if unit is not None and isinstance(meaning, str) and "temperature:" in meaning:
        if "difference" in meaning:
            unit = replace(unit, difference=True)
        elif "on_scale" in meaning:
            unit = replace(unit, difference=False)
    return Quantity(getattr(values, "values", values), text, unit)


_NANOSECOND = np.timedelta64(1, "ns")
_DURATION = "s"
"""Unit in which durations are read."""
_NUMBERS = frozenset({float, int, bool, str, type(None), np.float64, np.float32, np.int64, np.int32, np.bool_})
"""Types of elements that carry no unit."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column as the service declares it, and the unit in which the caller passes it."""

    name: str
    unit: str
    flag: bool = False
    """The only values are 0 and 1."""
    difference: bool = False
    """Values are differences of temperatures."""
    sentinels: tuple[float, ...] = ()
    """Values that mean "missing" in any unit."""
    caller_unit: str | None = None
    """Unit of plain values as the caller declares it; None for that of the service."""
    categories: Categories | None = None
    """Texts of a categorical column; None for numbers."""


def read_column(values: Any, column: Column) -> NDArray[Any]:
    """Return numbers of any shape in the unit of the column; masked values, None and null become NaN.

    Values that carry a unit, and durations (``timedelta64``, ``timedelta``), are converted from it; plain numbers are
    converted from ``column.caller_unit``.

    Raises:
        InvalidInput: lists of unequal lengths, values that are not real numbers (``not_numbers``), or a unit that is
            unknown, does not convert to that of the column, or contradicts the one declared (``wrong_unit``).
    """
    if column.categories is not None:
        return coded(values, column.name, column.categories)
    if column.caller_unit is None:  # most columns are plain numbers
        if type(values) is float:
            return np.asarray(values)
        if type(values) is np.ndarray and values.dtype.kind in "fiu":
            return values
    source = quantity(values, column.name)
    if source is not None:
        return _converted(source.values, source, column)
    if isinstance(values, timedelta):
        return _converted(values.total_seconds(), _duration("timedelta"), column)
    if isinstance(values, (list, tuple)) and values and type(values[0]) not in _NUMBERS and _mixed(values):
        return _each(values, column)
    try:
        array = as_array(values, column.name, column.unit)
    except InvalidInput:
        if isinstance(values, (list, tuple)) and _mixed(values):
            return _each(values, column)
        raise
    if array.dtype.kind == "m":
        return _converted(_seconds(array, column), _duration(str(array.dtype)), column)
    if array.dtype.kind == "O" and _mixed(array.flat):
        return _each(np.ma.filled(array, None).ravel(), column).reshape(array.shape)
    if column.caller_unit is None or column.caller_unit == column.unit:
        return numbers(array, column.name, column.unit, flag=column.flag)
    return _converted(
        array, Quantity(array, column.caller_unit, parse(column.caller_unit)), replace(column, caller_unit=None)
    )


def _converted(values: Any, source: Quantity, column: Column) -> NDArray[Any]:
    """Convert plain values in the unit of their source to that of the column."""
    if column.caller_unit is not None and not _agree(parse(column.caller_unit), source):
        raise _wrong_unit(
            column,
            source.text,
            f"column {column.name!r} carries the unit {source.text!r}, but units declares {column.caller_unit!r}; "
            "leave it out of units, or pass plain numbers",
        )
    array = numbers(values, column.name, column.unit, flag=column.flag)
    if source.text == column.unit and (source.unit is None or source.unit.difference is None):
        return array
    column_unit = parse(column.unit)
    factors = None
    if source.unit is not None and column_unit is not None:
        factors = conversion(source.unit, column.unit, column_unit, difference=column.difference)
    if factors is None:
        raise _no_conversion(column, source)
    factor, summand = factors
    if (factor, summand) == (1.0, 0.0):
        return array
    converted = np.asarray(array, np.float64) * factor + summand
    return np.where(np.isin(array, column.sentinels), array, converted) if column.sentinels else converted


def _each(values: Any, column: Column) -> NDArray[np.float64]:
    """Convert single quantities or durations [N], each in its own unit; None and NaN are missing values."""
    column_values = np.empty(len(values), np.float64)
    for place, value in enumerate(values):
        if _is_absent(value):
            column_values[place] = np.nan
        elif isinstance(value, timedelta) or (np.ndim(getattr(value, "magnitude", value)) == 0 and _has_unit(value)):
            column_values[place] = read_column(value, column)
        else:
            raise InvalidInput(
                f"{column.name} holds values with a unit and {value!r} without one in row {place}; give all of "
                "them a unit, or none",
                code="wrong_unit",
                field=column.name,
                value=repr(value),
                unit=column.unit,
                allowed=examples(column.unit),
                index=place,
            )
    return column_values


def _is_absent(value: Any) -> bool:
    if isinstance(value, np.timedelta64):
        return bool(np.isnat(value))
    return is_null(value) or (isinstance(value, (float, np.floating)) and math.isnan(value))


def _mixed(values: Iterable[Any]) -> bool:
    """Return whether any single value carries a unit."""
    kinds = set(map(type, values)) - _NUMBERS
    return any(issubclass(kind, (timedelta, np.timedelta64)) or carries_unit(kind) for kind in kinds)


def _has_unit(value: Any) -> bool:
    return isinstance(value, np.timedelta64) or carries_unit(type(value))


def _duration(text: str) -> Quantity:
    return Quantity(None, text, parse(_DURATION))


def _seconds(array: NDArray[Any], column: Column) -> NDArray[Any]:
    """Convert durations to s, float64; NaN if missing or masked."""
    if np.datetime_data(array.dtype)[0] in ("generic", "M", "Y"):  # months and years have no fixed length
        raise _no_conversion(column, Quantity(None, str(array.dtype), None))
    seconds = np.asarray(array) / _NANOSECOND * 1e-9
    return np.where(np.ma.getmaskarray(array), np.nan, seconds) if isinstance(array, np.ma.MaskedArray) else seconds


def _agree(declared: Unit | None, source: Quantity) -> bool:
    if declared is None or source.unit is None:
        return False
    if source.values is None:  # a duration: any unit of time agrees
        return declared.dimension == source.unit.dimension
    return (declared.factor, declared.offset, declared.dimension) == (
        source.unit.factor,
        source.unit.offset,
        source.unit.dimension,
    )


def _no_conversion(column: Column, source: Quantity) -> InvalidInput:
    if source.unit is not None and column.difference and source.unit.difference is not True and source.unit.offset:
        advice = "it holds differences of temperatures: give them in K, or mark them as differences, such as delta_degF"
    elif source.unit is not None and source.unit.difference and not column.difference:
        advice = f"it holds temperatures, not differences; give it in {examples(column.unit)}"
    elif source.unit is None:
        advice = f"that unit is unknown; give it in {examples(column.unit)}"
    else:
        advice = f"the two units do not convert; give it in {examples(column.unit)}"
    return _wrong_unit(
        column,
        source.text,
        f"column {column.name!r} is given in {source.text!r}; this model takes {column.unit!r}; {advice}",
    )


def _wrong_unit(column: Column, unit: str, message: str) -> InvalidInput:
    return InvalidInput(
        message,
        code="wrong_unit",
        field=column.name,
        value=unit,
        unit=column.unit,
        allowed=examples(column.unit),
    )
