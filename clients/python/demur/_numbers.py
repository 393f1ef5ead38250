"""Conversion of scalars, lists, arrays and series to arrays of real numbers."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import NDArray

from demur._errors import InvalidInput, wrong_argument

_SHOWN = 40
"""Characters of a refused value that a message shows."""


def numbers(values: Any, name: str, unit: str | None = None, *, flag: bool = False) -> NDArray[Any]:
    """Return real numbers as an array of any shape; masked values, None, null and ``pandas.NA`` become NaN.

    Args:
        flag: the column's only values are 0 and 1, so that booleans mean them. Elsewhere a boolean is a mistake.

    Raises:
        InvalidInput: lists of unequal lengths, or values that are not real numbers; the message shows the first.
    """
    source = as_array(values, name, unit)
    mask = np.ma.getmaskarray(source) if isinstance(source, MaskedArray) else None
    array = np.asarray(source)
    if array.dtype.kind == "O":
        return _of_objects(array, mask, name, unit, flag)
    if array.dtype.kind not in ("fiub" if flag else "fiu"):
        raise _refused(array, next(array.flat, None), 0, name, unit)
    return array if mask is None else np.where(mask, np.nan, array)


def as_array(values: Any, name: str, unit: str | None = None) -> NDArray[Any]:
    """Return an array of any dtype, masked where the values were.

    Raises:
        InvalidInput: lists of unequal lengths.
    """
    if isinstance(values, MaskedArray):
        return values
    try:
        return np.asarray(values)
    except ValueError:
        raise InvalidInput(
            f"{name} holds lists of unequal lengths", code="wrong_shape", field=name, unit=unit
        ) from None
    except TypeError as error:  # of what lists hold
        raise InvalidInput(
            f"{name} holds values that are not real numbers: {error}",
            code="not_numbers",
            field=name,
            unit=unit,
            allowed="real numbers",
        ) from None


def _of_objects(
    array: NDArray[Any], mask: NDArray[np.bool_] | None, name: str, unit: str | None, flag: bool
) -> NDArray[np.float64]:
    """Convert mixed values, as columns with missing values often have them."""
    missing: Iterable[Any] = [False] * array.size if mask is None else mask.flat
    converted = np.empty(array.size, np.float64)
    for place, (value, absent) in enumerate(zip(array.flat, missing, strict=True)):
        if absent or is_null(value):
            converted[place] = np.nan
            continue
        try:
            converted[place] = _real(value, flag)
        except (TypeError, ValueError, OverflowError):
            raise _refused(array, value, place, name, unit) from None
    return converted.reshape(array.shape)


def is_null(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, ``pandas.NA`` and ``pandas.NaT``."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # without importing pandas


def _real(value: Any, flag: bool) -> float:
    if isinstance(value, (str, bytes, complex, np.complexfloating, np.ndarray)):
        raise TypeError
    if isinstance(value, (bool, np.bool_)) and not flag:
        raise TypeError
    return float(value)


def _refused(array: NDArray[Any], value: Any, place: int, name: str, unit: str | None) -> InvalidInput:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    row = int(np.unravel_index(place, array.shape)[0]) if array.ndim and array.size else None
    where = "" if row is None else f", such as {shown} in row {row}"
    return InvalidInput(
        f"{name} holds {array.dtype} values{where}, not real numbers",
        code="not_numbers",
        field=name,
        value=str(array.dtype),
        unit=unit,
        allowed="real numbers",
        index=row,
    )


UNKNOWN = (np.nan, np.nan)


def positions(value: Any, name: str) -> NDArray[np.float64]:
    """Return points in m, float64 [..., 2]; NaN where a step is None, NaN or masked.

    Raises:
        InvalidInput: the value is neither an array [..., 2] of numbers nor a list of pairs and None.
    """
    try:
        if isinstance(value, (list, tuple)):
            value = [UNKNOWN if step is None else step for step in value]
        points = np.ma.filled(np.ma.asarray(value, np.float64), np.nan)
    except (TypeError, ValueError):
        points = np.zeros(0)
    if points.ndim < 1 or points.shape[-1] != 2:
        raise wrong_argument(name, _shown(value), "positions [T, 2] in m, None or NaN where a step is not known")
    return points


def _shown(value: Any) -> Any:
    return f"an array {list(value.shape)}" if isinstance(value, np.ndarray) else value
