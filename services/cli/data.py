"""``demur data TASK ACTION``: a task's data in the official format, from its simulator or from files."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from models.workbench import Action, simulator_actions
from services.cli import options
from services.cli.output import CommandError, ProgressLine, print_json
from services.tasks import WORKBENCHES

EXAMPLE = "demur data vessel simulate --scale 0.05 --out data/vessel"


def arguments(parser: argparse.ArgumentParser) -> None:
    """A sub-command for each task, and in it one for each action that its workbench offers."""
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    for name in sorted(WORKBENCHES):
        bench = importlib.import_module(WORKBENCHES[name])
        offered = (*simulator_actions(name), *bench.ACTIONS)
        task = tasks.add_parser(name, help=", ".join(action.name for action in offered))
        actions = task.add_subparsers(dest="action", required=True, metavar="ACTION")
        for action in offered:
            command = actions.add_parser(action.name, help=action.help, description=action.help)
            for option in action.options:
                options.add(command, option)
            command.add_argument("--json", action="store_true", help="print a JSON document")
            command.set_defaults(wanted=action)


def run(given: argparse.Namespace) -> int:
    """Writes the files and says where."""
    action: Action = given.wanted
    values = {option.key: getattr(given, option.key) for option in action.options}
    try:
        written = action.run(values, ProgressLine(f"{action.doing} {given.task}"))
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from error
    document: dict[str, Any] = {"files": [str(path) for path in written]}
    if given.json:
        print_json(document | ({"datasheet": action.datasheet} if action.datasheet else {}))
    else:
        print("\n".join(f"{path}  {path.stat().st_size / 1e6:.1f} MB" for path in written))
        if action.datasheet:
            print(f"what these are: {action.datasheet}")
    return 0
