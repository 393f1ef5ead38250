"""What ``demur score`` needs of whatever scores files: a path in, a path out, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from models.workbench import Option, Progress

OnError = Literal["defer", "skip", "fail"]
"""What becomes of an item that cannot be scored: its row says why and counts as deferred, it is left out, or the run
ends there. Whatever was written before stays."""
INVALID = "invalid_input"
"""Reason of an item that was deferred because it could not be scored; beside those of ``DecidedUnit.reason``."""


class Stopped(ValueError):
    """An item could not be scored, and the run was to end there; the message names it."""


@dataclass(frozen=True)
class Asked:
    """What the user wants scored."""

    task: str
    source: Path
    output: Path
    target: str
    """host:port of the gRPC service."""
    purpose: Literal["decide", "explore", "replay"]
    progress: Progress
    tell: Callable[[str], None]
    """Takes a line for people as soon as it is known."""
    on_error: OnError = "defer"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Values of the scorer's own options by ``Option.key``."""

    def failed(
        self, item: str, error: object, add: Callable[[Mapping[str, Any]], None], row: Mapping[str, Any]
    ) -> None:
        """Take note of an item that could not be scored: its row, where rows of such items are wanted.

        Args:
            item: names it.
            add: writes a row of a summary.
            row: what is known of the item.

        Raises:
            Stopped: the run is to end.
        """
        if self.on_error == "fail":
            raise Stopped(f"{item}: {error} (stopped there, as --on-error fail asks; what came before is written)")
        self.tell(f"{item}: failed: {error}")
        if self.on_error == "defer":
            add({**row, "decision": "defer", "reason": INVALID, "error": str(error)})


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    document: Mapping[str, Any]
    """For programs."""
    told: str
    """The same in a line for people."""
    failed: bool = False
    """Whether something could not be scored; the rest was."""


@dataclass(frozen=True)
class Scorer:
    """Scores files of one form."""

    source: str
    """What the input is, for the help text."""
    output: str
    run: Callable[[Asked], Outcome]
    """Raises ValueError, OSError and ``demur.DemurError`` with a message."""
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()
    """Commands, for the help text."""
