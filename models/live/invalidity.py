"""Reasons other than its own labels for which a window is not valid: lost units, silent processes and ledgers."""

from __future__ import annotations

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
    """A stable word and a sentence each."""
    lost: int = 0
    """Units that were decided and are not in the ledger; at least one for each gap of unknown size."""
    why: tuple[str, ...] = ()
    """Causes of the loss."""
    until: float = -math.inf
    """Decision time of the last lost unit, seconds since 1970."""
    more: bool = False
    """Whether ``lost`` is a lower bound."""


InvalidityOf = Callable[[str, float, float], Invalidity]
"""Returns the invalidity of a task's units that were decided between two times, seconds since 1970."""
