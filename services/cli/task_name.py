"""Argument of the command line that names a task: an installed one, or a row model of the home directory."""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from services.runtime.row_models import row_models
from services.runtime.settings import Settings
from services.tasks import TENANTS


def own_models() -> tuple[str, ...]:
    """Return the names of the row models of the home directory."""
    return tuple(row_models(Path(os.environ.get("DEMUR_HOME", Settings.home))))


def served_names() -> tuple[str, ...]:
    """Return the names of installed tasks and of row models, tasks first."""
    return (*sorted(TENANTS), *own_models())


class TaskName(click.ParamType[str]):
    """Name of a task or row model; row models are looked up when the command is used."""

    name = "task"

    def __init__(self, *more: str, of: Collection[str] = TENANTS) -> None:
        """
        Args:
            more: further names that are allowed.
            of: installed tasks that are allowed.
        """
        self._more, self._tasks = more, of

    def names(self) -> tuple[str, ...]:
        """Return the allowed names."""
        return (*sorted({*self._tasks, *self._more}), *own_models())

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
