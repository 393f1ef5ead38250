"""``demur monitor``: live retention, from the ledgers or from a logged stream."""

import importlib

import click

from services.cli.options import LazyGroup

monitor = LazyGroup(
    name="monitor",
    places={
        "run": "services.cli.monitor_run:run",
        "export": "services.cli.monitor_export:export_command",
        "replay": "services.cli.monitor_replay:replay_command",
    },
    help="Monitor live retention: what deferring costs and saves, live or of a logged stream.",
    epilog="Example: demur monitor replay --events events.csv --labels labels.csv --acceptable 1 --json",
    invoke_without_command=True,
)


@monitor.result_callback()
@click.pass_context
def _run_by_default(context: click.Context, code: int | None) -> int:
    if context.invoked_subcommand is None:
        code = context.invoke(importlib.import_module("services.cli.monitor_run").run)
    return code or 0
