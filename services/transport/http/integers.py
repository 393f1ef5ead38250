"""Integers of JSON bodies and queries, which JSON does not distinguish from other numbers: 49.0 is the integer 49."""

from services.runtime.errors import InvalidInput

Integer = int | float
"""Type of an integer field of a body, before ``integer`` has checked it."""
_EXACT = 2.0**53
"""Up to this magnitude float64 represents each integer exactly."""


def integer(field: str, value: Integer, unit: str = "") -> int:
    """Return a JSON number as an integer.

    Args:
        unit: unit of the value; empty for none.

    Raises:
        InvalidInput: the number has a fraction, or was written as a float and is too large to be exact.
    """
    if isinstance(value, int):
        return value
    if value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    suffix = f" {unit}" if unit else ""
    raise InvalidInput(
        f"{field} = {value:g}{suffix}: expected an integer, such as 49 or 49.0",
        code="not_a_number",
        field=field,
        value=f"{value:g}",
        unit=unit,
        allowed="integers",
    )
