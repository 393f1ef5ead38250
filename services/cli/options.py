"""Options that a task declares, on the command line."""

from __future__ import annotations

import argparse
from typing import Any

from models.workbench import Option


def add(command: argparse.ArgumentParser, option: Option) -> None:
    """Adds one to a command."""
    if option.kind is None:
        command.add_argument(option.name, action="store_true", help=option.help)
        return
    more: dict[str, Any] = {"nargs": option.count} if option.count is not None else {}
    if option.choices:
        more["choices"] = option.choices
    if option.name.startswith("-"):
        more["required"] = option.required
    command.add_argument(
        option.name, type=option.kind, default=option.default, help=option.help, metavar=option.metavar, **more
    )
