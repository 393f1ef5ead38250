"""What a model's input column is: its name, unit and the range that is physically possible."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Feature:
    """One input column. A value outside [lower, upper] is not a shift but an error of the caller."""

    name: str
    """Column name as in the official files."""
    unit: str
    """Unit symbol, e.g. "kn"; "1" for a pure number."""
    lower: float
    """Smallest physically possible value, in `unit`."""
    upper: float
    """Largest physically possible value, in `unit`."""
    description: str
    """One sentence for people and for the interface description."""
