"""Conversion of values to the units of columns: factors, zero points of temperatures, equivalent quantities."""

from __future__ import annotations

from collections.abc import Mapping

from demur._unit_words import PRESSURE, SPEED, TEMPERATURE, Dimension, Unit, dimension, parse, product

_EXAMPLES: Mapping[Dimension, str] = {
    dimension(m=1): "m, km or ft",
    dimension(s=1): "s, min, h or days",
    SPEED: "kn, m/s, km/h or mph",
    TEMPERATURE: "K, °C or °F",
    PRESSURE: "Pa, hPa or mmHg",
    dimension(rad=1): "degrees or rad",
    (): "1 or %",
    dimension(kg=1, m=-2): "kg m-2 or mm",
}

_EQUIVALENTS: tuple[tuple[str, Dimension, float], ...] = (
    ("mm", dimension(kg=1, m=-3), 1000.0),  # of water: 1 kg/m² is 1 mm, and 1 kg m-2 s-1 is 1 mm/s
    ("kg/m²", dimension(kg=-1, m=3), 1e-3),
    ("gpm", dimension(m=1, s=-2), 9.80665),  # geopotential to geopotential height
)
"""Prefix of a column's unit, and the ratio (dimension, value in base units) of units that are equivalent to it."""


def conversion(given: Unit, column_unit: str, column: Unit, *, difference: bool) -> tuple[float, float] | None:
    """Return factor and summand that convert a value in ``given`` to the unit of a column; None if incompatible.

    Args:
        given: unit of the values.
        column_unit: unit of the column as the service declares it; amounts of water and heights are recognised by it.
        column: the same, parsed.
        difference: the column is a difference of temperatures, which has no zero point to move.
    """
    if given.dimension != column.dimension:
        excess = product(given.dimension, column.dimension, -1)
        for prefix, ratio, value in _EQUIVALENTS:
            if excess == ratio and column_unit.startswith(prefix):
                return given.factor / value / column.factor, 0.0
        return None
    same = given.factor == column.factor and given.offset == column.offset
    if same and given.difference is None:
        return 1.0, 0.0
    factor = given.factor / column.factor
    if given.dimension != TEMPERATURE:
        return factor, 0.0
    if difference:
        # A temperature in other degrees is indistinguishable from a difference, unless it is marked as one.
        fits = given.difference or same or (given.difference is None and (not given.offset or factor == 1.0))
        return (factor, 0.0) if fits else None
    return None if given.difference else (factor, (given.offset - column.offset) / column.factor)


def is_difference(unit: str, lower: float, upper: float) -> bool:
    """Return whether a column of this unit and physical range holds differences of temperatures.

    It does if the range goes below absolute zero, or is symmetric about the zero of a scale such as °C.
    """
    parsed = parse(unit)
    if parsed is None or parsed.dimension != TEMPERATURE:
        return False
    return parsed.difference is True or lower * parsed.factor + parsed.offset < 0 or (0.0 < upper == -lower)


def examples(unit: str) -> str:
    """Return units that convert to this one, for an error message."""
    parsed = parse(unit)
    known = None if parsed is None else _EXAMPLES.get(parsed.dimension)
    return f"{unit}, or another unit that converts to it" + (f" ({known})" if known else "")
