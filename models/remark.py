"""Something about an input that a model may not be made for, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """One number of an input that lies outside what is usual."""

    code: str
    message: str
    """What was seen, and what to do."""
    value: float
    unit: str
    lower: float
    """Of what is usual."""
    upper: float
