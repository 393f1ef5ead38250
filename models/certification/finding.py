"""What a procedure finds: a threshold or none, and what that rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The outcome of one procedure on one set of units."""

    procedure: str
    """Name and source of the method."""
    threshold: float | None
    """As ``units.as_threshold`` makes it; None: nothing can be promised, so all units are deferred."""
    statement: str
    """The promise in words; empty without a threshold."""
    reason: str
    """Why there is no threshold, and what would help; empty with one."""
    units: int
    """Units that the promise rests on: for risks those that were tested, rulers not among them."""
    answered: int | None = None
    """Of these, at or below the threshold."""
    loss: float | None = None
    """Sum of the losses of the answered ones (their failures); for a log, of their weighted losses."""
    pvalue: float | None = None
    """Of the test at the threshold."""
    low: float | None = None
    high: float | None = None
    """Interval of the realised retention, where the procedure has one."""


def nothing(procedure: str, units: int, reason: str) -> Finding:
    """No threshold keeps the promise."""
    return Finding(procedure, None, "", f"no certifiable threshold: defer all; {reason}", units)
