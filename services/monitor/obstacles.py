"""What stands against a window, beside its own labels: units that are lost, ledgers and processes that are silent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Of one window."""

    reasons: tuple[tuple[str, str], ...] = ()
    """A stable word and a sentence each."""
    lost: int = 0
    """Units that were decided and are not in the ledger; at least one for each gap of which nobody knows how many."""
    why: tuple[str, ...] = ()
    """Why they are not."""
    until: float = -math.inf
    """When the last of them was decided, seconds since 1970."""
    more: bool = False
    """Whether they may be more."""


class Obstructing(Protocol):
    """Knows the obstacles."""

    def __call__(self, task: str, start: float, end: float) -> Obstacles:
        """Of a task's units that were decided between two moments, seconds since 1970."""
        ...
