"""Argument of the command line that names a task: an installed one, or a row model of the home directory."""

import os
from pathlib import Path
from typing import Any

import click

from services.runtime.row_models import row_models
from services.runtime.settings import Settings
from services.tasks import TENANTS


def served_names() -> tuple[str, ...]:
    """Return the names of installed tasks and of row models, tasks first."""
    home = Path(os.environ.get("DEMUR_HOME", Settings.home))
    return (*sorted(TENANTS), *row_models(home))


class TaskName(click.ParamType[str]):
    """Name of a task or row model; row models are looked up when the command is used."""

    name = "task"

    def __init__(self, *more: str) -> None:
        """
        Args:
            more: further names that are allowed.
        """
        self._more = more

    def names(self) -> tuple[str, ...]:
        """Return the allowed names."""
        return (*served_names(), *self._more)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; an unknown one ends the command with the list of known ones."""
        if value not in (names := self.names()):
            self.fail(
                f"{value!r} is not one of {', '.join(names)}; `demur models build rows` adds a model of your own",
                param,
                ctx,
            )
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help texts."""
        return f"[{'|'.join(self.names())}]"
