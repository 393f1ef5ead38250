"""Actions on data files that a task offers on the command line, with their options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

SIMULATORS = "demur.simulators"
"""Group of entry points: the name of a task to the actions of its simulator."""
Progress = Callable[[float, str], None]
"""Callback with the finished share, 0 to 1, and a short text."""


@dataclass(frozen=True, slots=True)
class Option:
    """Option, or positional argument if the name begins without dashes."""

    name: str
    help: str
    kind: Callable[[str], Any] | None = str
    """Function that converts the text to a value; None for a switch, which is False by default."""
    default: Any = None
    required: bool = False
    count: int | str | None = None
    """Number of values, or "+" for one and more; None for a single one."""
    choices: tuple[str, ...] = ()
    metavar: str | None = None

    @property
    def key(self) -> str:
        """Name of the value in the options that ``Action.run`` takes."""
        return self.name.lstrip("-").replace("-", "_")


@dataclass(frozen=True, slots=True)
class Action:
    """Command that reads and writes data files."""

    name: str
    help: str
    options: tuple[Option, ...]
    run: Callable[[Mapping[str, Any], Progress], list[Path]]
    """Function from values by ``Option.key`` to the written files. Raises ValueError and OSError with a message."""
    doing: str
    """Label of the progress line, such as "simulating"."""
    datasheet: str = ""
    """Documentation of the files; empty for files of the user's own data."""


def simulator_actions(task: str) -> tuple[Action, ...]:
    """Return the actions of a task's simulator.

    If no simulators are installed, ``simulate`` explains how to install them.
    """
    if not (known := entry_points(group=SIMULATORS)):
        return (NOT_INSTALLED,)
    return tuple(action for entry in known.select(name=task) for action in entry.load())


def _not_installed(values: Mapping[str, Any], progress: Progress) -> list[Path]:
    raise ValueError(
        "simulators are not installed; in a checkout of Demur, `pip install -e simulators` installs those of lesion,"
        " motion, vessel and weather"
    )


NOT_INSTALLED = Action("simulate", "not installed: `pip install -e simulators`", (), _not_installed, "simulating")
"""Placeholder for the actions of simulators that are not installed; accepts any options."""
