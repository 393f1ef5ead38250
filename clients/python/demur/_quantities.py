"""Values that carry a unit, recognised without importing the libraries that make them.

Quantities of astropy and pint (also within xarray and pandas) are recognised by their classes and converted to base
units by their own library; attributes ``units`` of xarray, pandas and h5py are parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from demur._unit_words import Unit, parse

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
        zero, one, two = (type(values)(number, values.units).to_root_units() for number in (0.0, 1.0, 2.0))
        root = parse(str(one.units) or "1")
        factor, offset = float(one.magnitude - zero.magnitude), float(zero.magnitude)
        linear = bool(np.isclose(two.magnitude - one.magnitude, factor, rtol=1e-9, atol=0.0))
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
