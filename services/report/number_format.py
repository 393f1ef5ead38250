"""Formats of numbers: four significant digits, thin spaces between thousands, typographic minus signs."""

import math

THIN = "\u202f"
"""Narrow no-break space."""
MISSING = "\u2013"
_MINUS = "\u2212"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def numeral(value: float | None, unit: str = "") -> str:
    """Return four significant digits; four decimals for shares (unit ``1``); an en dash for None and NaN."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    size = abs(value)
    if size == 0:
        return "0"
    if unit == "1" and 5e-5 <= size < 1000:
        return _grouped(f"{value:.4f}")
    # decided on the rounded value: 0.99996 has as many decimals as 1.000
    exponent = int(f"{size:.3e}".partition("e")[2])
    if not -4 <= exponent < 7:
        digits, _, power = f"{value:.3e}".partition("e")
        return f"{_grouped(digits)}{THIN}×{THIN}10{str(int(power)).translate(_RAISED)}"
    return _grouped(f"{value:,.{max(0, 3 - exponent)}f}")


def count(value: int) -> str:
    """Return a whole number with all its digits."""
    return _grouped(f"{value:,}")


def percent(share: float) -> str:
    """Return a share in per cent, without decimals above 1 % and below 99 %."""
    if math.isnan(share):
        return MISSING
    if not math.isfinite(share):
        return f"{numeral(share)}{THIN}%"
    near_an_end = share != 0 and (abs(share) < 0.01 or 0.99 < share < 1)
    return _grouped(f"{100 * share:,.{1 if near_an_end else 0}f}") + f"{THIN}%"


def change(share: float) -> str:
    """Return a relative change in per cent, a rise with its plus sign."""
    text = percent(share)
    if math.isnan(share):
        return text
    if math.isfinite(share) and not any(digit in text for digit in "123456789"):
        return f"0{THIN}%"
    return f"+{text}" if share > 0 else text


def with_unit(value: float | None, unit: str) -> str:
    """Return a number and its unit; shares have none."""
    text, suffix = numeral(value, unit), shown(unit)
    return f"{text}{THIN}{suffix}" if suffix and text != MISSING else text


def as_given(value: float, unit: str) -> str:
    """Return a number that a user chose, no longer than written, and its unit."""
    text, suffix = _grouped(f"{value:,.6g}"), shown(unit)
    return f"{text}{THIN}{suffix}" if suffix else text


def tick(value: float) -> str:
    """Return a number at an axis, without trailing zeros; empty for NaN and infinity."""
    if not math.isfinite(value):
        return ""
    if value and not 1e-3 <= abs(value) < 1e5:
        digits, _, power = f"{value:e}".partition("e")
        front = f"{float(digits):g}"
        raised = f"10{str(int(power)).translate(_RAISED)}"
        return raised if front == "1" else f"{_grouped(front)}×{raised}"
    return _grouped(f"{value:,.6g}")


def shown(unit: str) -> str:
    """Return the unit as shown after a number, without its scale; empty for shares and for unknown units."""
    return "" if unit == "1" or "unit of" in unit else unit.partition(", ")[0]


def _grouped(text: str) -> str:
    return text.replace(",", THIN).replace("-", _MINUS)
