"""Units: names, a parser of expressions made of them, and conversion to the units of columns.

Names are those of UDUNITS and the CF conventions (``m s-1``, ``degC``, ``kg m-2``), of SI, and of pint and astropy.
An ambiguous name, such as ``nm`` (nanometre or nautical mile), is unknown, and so refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

Dimension = tuple[tuple[str, int], ...]
"""Exponents of the base units that occur, by name; empty for a number without a unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit in terms of m, kg, s, K and rad: ``value * factor + offset`` is the value in base units."""

    factor: float
    dimension: Dimension
    offset: float = 0.0
    """Zero point of a temperature scale, K; 0 for other units."""
    difference: bool | None = None
    """Of a temperature: True for a difference, False for a value on a scale, None if the unit does not say which."""


def dimension(**exponents: int) -> Dimension:
    """Return the dimension with these exponents, such as ``dimension(m=1, s=-1)``."""
    return tuple(sorted((name, exponent) for name, exponent in exponents.items() if exponent))


PRESSURE = dimension(kg=1, m=-1, s=-2)
SPEED = dimension(m=1, s=-1)
TEMPERATURE = dimension(K=1)

_NAMES: Mapping[Dimension, Mapping[str, float]] = {
    dimension(m=1): {
        "m metre metres meter meters gpm": 1.0,
        "km kilometre kilometres kilometer kilometers": 1000.0,
        "dam decametre decameter": 10.0,
        "cm centimetre centimetres centimeter centimeters": 0.01,
        "mm millimetre millimetres millimeter millimeters": 0.001,
        "ft foot feet": 0.3048,
        "in inch inches": 0.0254,
        "mi mile miles": 1609.344,
        "NM nmi nautical_mile nautical_miles": 1852.0,
    },
    dimension(s=1): {
        "s sec secs second seconds": 1.0,
        "min mins minute minutes": 60.0,
        "h hr hrs hour hours": 3600.0,
        "d day days": 86_400.0,
        "week weeks": 604_800.0,
        "ms millisecond milliseconds": 1e-3,
        "us microsecond microseconds": 1e-6,
        "ns nanosecond nanoseconds": 1e-9,
    },
    dimension(kg=1): {"kg kilogram kilograms": 1.0, "g gram grams": 1e-3, "mg milligram milligrams": 1e-6},
    SPEED: {"kn kt kts knot knots": 1852.0 / 3600.0, "kmh kph": 1 / 3.6, "mph": 1609.344 / 3600.0},
    PRESSURE: {
        "Pa pascal pascals": 1.0,
        "hPa hectopascal hectopascals mbar mb millibar millibars": 100.0,
        "kPa kilopascal kilopascals": 1000.0,
        "bar bars": 1e5,
        "dbar decibar decibars": 1e4,
        "atm atmosphere": 101_325.0,
        "mmHg mm_Hg millimeter_Hg": 133.322387415,
        "inHg in_Hg inch_Hg": 3386.388640341,
    },
    dimension(kg=1, m=2, s=-2): {"J joule joules": 1.0},
    dimension(s=-1): {"Hz hertz": 1.0},
    dimension(rad=1): {
        "rad radian radians": 1.0,
        "deg degree degrees arc_degree ° angular_degree": 0.017453292519943295,
    },
    (): {"1 dimensionless fraction (0_-_1)": 1.0, "% percent pct": 0.01},
    TEMPERATURE: {
        "K kelvin kelvins degK deg_K degree_K degrees_K degree_kelvin degrees_kelvin": 1.0,
        "delta_degC delta_degree_Celsius delta_celsius": 1.0,
        "delta_degF delta_degree_Fahrenheit delta_fahrenheit": 5 / 9,
        "degC deg_C °C C celsius degree_C degrees_C degree_Celsius degrees_Celsius deg_Celsius degreeC degreesC": 1.0,
        "degF deg_F °F F fahrenheit degree_F degrees_F degree_Fahrenheit degrees_Fahrenheit deg_Fahrenheit": 5 / 9,
    },
}
"""Names of each unit and its factor, by dimension."""

_ZERO_CELSIUS, _ZERO_FAHRENHEIT = 273.15, 459.67 * 5 / 9
"""K."""


def _table() -> dict[str, Unit]:
    table: dict[str, Unit] = {}
    for kind, units in _NAMES.items():
        for names, factor in units.items():
            for name in names.split():
                unit = Unit(factor, kind)
                if "delta_" in name:
                    unit = replace(unit, difference=True)
                elif kind == TEMPERATURE and not name.lower().endswith(("k", "kelvin", "kelvins")):
                    unit = replace(unit, offset=_ZERO_CELSIUS if factor == 1.0 else _ZERO_FAHRENHEIT)
                table[name.replace("_", " ")] = table[name] = unit
    return table


_TABLE = _table()
_FOLDED = {name.lower(): unit for name, unit in _TABLE.items() if len(name) > 3}
"""Names long enough to be matched regardless of case."""

_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻·×⋅µμº", "0123456789-***uu°")
_TOKEN = re.compile(
    r"(?P<blank>\s+)|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<word>[^\W\d]+|%|°[CF]?)"
    r"|(?P<operator>\*\*|[*/^().+-])"
)


@lru_cache(maxsize=1024)
def parse(text: str) -> Unit | None:
    """Return the unit that a text names, such as ``m s-1``, ``kg/m²``, ``kn/3min``; None if unknown.

    A number directly before a unit belongs to it: ``kn/3min`` is knots per three minutes.
    """
    text = text.translate(_PLAIN).strip()
    known = _named(" ".join(text.split()))
    if known is not None:
        return known
    try:
        return _Parser(text).whole()
    except (_UnknownUnit, OverflowError, ZeroDivisionError, RecursionError):
        return None


class _UnknownUnit(ValueError):
    """A text that names no known unit."""


class _Parser:
    """Parser of products and quotients of powers of units, left to right."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise _UnknownUnit(text)
            self._tokens.append((match.lastgroup, match.group()))
            place = match.end()
        self._place = 0

    def whole(self) -> Unit:
        unit = self._product()
        if self._place < len(self._tokens):
            raise _UnknownUnit
        return unit

    def _product(self) -> Unit:
        unit = self._factor()
        while True:
            self._skip_blanks()
            kind, text = self._peek()
            if text == "/" or (kind == "word" and text == "per"):
                self._place += 1
                unit = _times(unit, self._factor(), -1)
            elif text in ("*", "."):
                self._place += 1
                unit = _times(unit, self._factor(), 1)
            elif kind in ("word", "number") or text == "(":
                unit = _times(unit, self._factor(), 1)
            else:
                return unit

    def _factor(self) -> Unit:
        """Parse a power, a number, or a number that multiplies the power after it."""
        self._skip_blanks()
        kind, text = self._peek()
        if kind != "number":
            return self._power()
        self._place += 1
        number = Unit(float(text), ())
        self._skip_blanks()
        kind, text = self._peek()
        return _times(number, self._power(), 1) if text == "(" or (kind == "word" and text != "per") else number

    def _power(self) -> Unit:
        kind, text = self._peek()
        self._place += 1
        if text == "(":
            unit = self._product()
            if self._peek()[1] != ")":
                raise _UnknownUnit
            self._place += 1
        else:
            named = _named(text) if kind == "word" else None
            if named is None:
                raise _UnknownUnit
            unit = replace(named, offset=0.0) if len(self._tokens) > 1 else named
        return _times(Unit(1.0, ()), unit, self._exponent())

    def _exponent(self) -> int:
        start, sign = self._place, 1
        self._skip_blanks()
        if self._peek()[1] in ("**", "^"):
            self._place += 1
            self._skip_blanks()
        else:
            self._place = start  # a number after a blank is not an exponent
        if self._peek()[1] in ("-", "+"):
            sign = -1 if self._peek()[1] == "-" else 1
            self._place += 1
        kind, text = self._peek()
        if kind != "number":
            if self._place > start:
                raise _UnknownUnit
            return 1
        if not text.isdigit() or len(text) > 1:
            raise _UnknownUnit
        self._place += 1
        return sign * int(text)

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._place] if self._place < len(self._tokens) else ("end", "")

    def _skip_blanks(self) -> None:
        while self._peek()[0] == "blank":
            self._place += 1


def _named(text: str) -> Unit | None:
    return _TABLE.get(text) or _FOLDED.get(text.lower())


def _times(first: Unit, second: Unit, exponent: int) -> Unit:
    """Return ``first * second ** exponent``, without zero points and marks of differences."""
    return Unit(first.factor * second.factor**exponent, product(first.dimension, second.dimension, exponent))


def product(first: Dimension, second: Dimension, exponent: int) -> Dimension:
    """Return the dimension of ``first * second ** exponent``."""
    exponents = dict(first)
    for name, power in second:
        exponents[name] = exponents.get(name, 0) + power * exponent
    return dimension(**exponents)


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


def conversion(source: Unit, column_unit: str, column: Unit, *, difference: bool) -> tuple[float, float] | None:
    """Return factor and summand that convert a value in ``source`` to the unit of a column; None if incompatible.

    Args:
        source: unit of the values.
        column_unit: unit of the column as the service declares it; amounts of water and heights are recognised by it.
        column: the same, parsed.
        difference: the column is a difference of temperatures, which has no zero point to move.
    """
    if source.dimension != column.dimension:
        excess = product(source.dimension, column.dimension, -1)
        for prefix, ratio, value in _EQUIVALENTS:
            if excess == ratio and column_unit.startswith(prefix):
                return source.factor / value / column.factor, 0.0
        return None
    same = source.factor == column.factor and source.offset == column.offset
    if same and source.difference is None:
        return 1.0, 0.0
    factor = source.factor / column.factor
    if source.dimension != TEMPERATURE:
        return factor, 0.0
    if difference:
        # A temperature in other degrees is indistinguishable from a difference, unless it is marked as one.
        fits = source.difference or same or (source.difference is None and (not source.offset or factor == 1.0))
        return (factor, 0.0) if fits else None
    return None if source.difference else (factor, (source.offset - column.offset) / column.factor)


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
