"""What a task's workbench offers on the command line: actions on data files, each with its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Progress = Callable[[float, str], None]
"""Called with the finished share, 0 to 1, and a few words."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, or a positional argument where the name begins without dashes."""

    name: str
    help: str
    kind: Callable[[str], Any] | None = str
    """What makes a value of the text; None for a switch, which is False unless given."""
    default: Any = None
    required: bool = False
    count: int | str | None = None
    """How many values: a number, or "+" for one and more; None for a single one."""
    choices: tuple[str, ...] = ()
    metavar: str | None = None

    @property
    def key(self) -> str:
        """Under which the value is found."""
        return self.name.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Action:
    """Files in, files out."""

    name: str
    help: str
    options: tuple[Option, ...]
    run: Callable[[Mapping[str, Any], Progress], list[Path]]
    """Takes the values by ``Option.key``; returns what was written. Raises ValueError and OSError with a message."""
    doing: str
    """For the progress line, such as "simulating"."""
    datasheet: str = ""
    """Where it says what the files are; empty for files of the user's own data."""
