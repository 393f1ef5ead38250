"""What ``demur score`` needs of whatever scores files: a path in, a path out, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from models.workbench import Option, Progress


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
    options: Mapping[str, Any] = field(default_factory=dict)
    """Values of the scorer's own options by ``Option.key``."""


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
