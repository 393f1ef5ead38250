"""``demur data TASK ACTION``: data of a task in the official format, from its simulator or from files."""

import importlib
from typing import Any

import click

from models.workbench import NOT_INSTALLED, Action, simulator_actions
from services.cli.options import CONTEXT, Command, declared, json_option
from services.cli.output import CommandError, ProgressLine, print_json
from services.tasks import WORKBENCHES

_ANY_OPTIONS = {**CONTEXT, "ignore_unknown_options": True, "allow_extra_args": True}


class _Tasks(click.Group):
    """Group with a group per task, whose commands are the actions of its workbench."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all tasks."""
        return sorted(WORKBENCHES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the group of a task, or None if there is no such task."""
        if cmd_name not in WORKBENCHES:
            return None
        actions = (*simulator_actions(cmd_name), *importlib.import_module(WORKBENCHES[cmd_name]).ACTIONS)
        names = ", ".join(action.name for action in actions)
        commands = [_command(cmd_name, action) for action in actions]
        return click.Group(cmd_name, commands=commands, help=f"{cmd_name}: {names}.", context_settings=CONTEXT)


def _command(task: str, action: Action) -> click.Command:
    def callback(json: bool, **values: Any) -> int:
        try:
            written = action.run(values, ProgressLine(f"{action.doing} {task}"))
        except (ValueError, OSError) as error:
            raise CommandError(str(error)) from error
        document: dict[str, Any] = {"files": [str(path) for path in written]}
        if json:
            print_json(document | ({"datasheet": action.datasheet} if action.datasheet else {}))
        else:
            print("\n".join(f"{path}  {path.stat().st_size / 1e6:.1f} MB" for path in written))
            if action.datasheet:
                print(f"datasheet: {action.datasheet}")
        return 0

    params = [declared(option) for option in action.options]
    positional = (option for option in action.options if not option.name.startswith("-"))
    paragraphs = [action.help, *(f"{(option.metavar or option.name).upper()}: {option.help}" for option in positional)]
    made = Command(
        action.name,
        callback=callback,
        params=params,
        help="\n\n".join(paragraphs),
        short_help=action.help,
        context_settings=_ANY_OPTIONS if action is NOT_INSTALLED else CONTEXT,
    )
    return json_option(made)


data = _Tasks(
    name="data",
    help="Simulate a task's data, or convert files, in the official format.",
    epilog="Example: demur data vessel simulate --scale 0.05 --out data/vessel",
    context_settings=CONTEXT,
)
