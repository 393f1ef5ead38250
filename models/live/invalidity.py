"""Reasons other than its own labels why a window is invalid: lost units, silent processes and ledgers."""

import math
from collections.abc import Callable
from dataclasses import dataclass

REASONS = frozenset(
    {
        *("no_units", "no_labels", "few_labels", "heavy_label", "positivity", "mismatch", "incomplete", "young"),
        *("gap", "lag", "reading", "ledger"),
    }
)
"""All reasons that alerts can name: those of ``models.estimation.gates``, and those of the ledgers (units that are
missing, a process without a heartbeat, a history that is being read, a ledger that cannot be read)."""


@dataclass(frozen=True, slots=True)
class Invalidity:
    """State of the ledgers for one window."""

    reasons: tuple[tuple[str, str], ...] = ()
    """Reasons, each a stable word and a sentence."""
    lost: int = 0
    """Number of units that were decided and are not in the ledger; at least 1 for each gap of unknown size."""
    why: tuple[str, ...] = ()
    """Causes of the loss."""
    until: float = -math.inf
    """Decision time of the last lost unit, seconds since 1970."""
    more: bool = False
    """True if ``lost`` is a lower bound."""


InvalidityOf = Callable[[str, float, float], Invalidity]
"""Function that returns the invalidity of a task's units decided between two times, seconds since 1970."""
