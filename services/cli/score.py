"""``demur score TASK IN OUT``: score files through the running service; tasks declare their files and options."""

from pathlib import Path
from typing import Any, get_args

import click

import demur
from services.cli.options import CONTEXT, Command, Options, declared
from services.cli.output import CommandError, ProgressLine, print_json
from services.cli.processes import grpc_target
from services.cli.rows.scorer import SCORER
from services.cli.task_name import served_names
from services.runtime.task_entry import imported
from services.tasks import SCORERS
from services.tasks.scoring import OnError, Scorer, ScoreRequest

DEFAULTS = {"target": None, "purpose": "replay", "on_error": "defer", "json": False}
"""Values of the options that all tasks share, where they are given neither before nor after the task."""


def run(options: Options) -> int:
    """Score a file and print the counts; return 1 if a part could not be scored."""
    scorer = _scorer(options.task)
    line = ProgressLine(f"scoring {options.input.name}")
    request = ScoreRequest(
        task=options.task,
        source=options.input,
        output=options.output,
        target=options.target or grpc_target(options.task),
        purpose=options.purpose,
        progress=line,
        tell=(lambda text: None) if options.json else line.interrupt,
        on_error=options.on_error,
        options={option.key: getattr(options, option.key) for option in scorer.options},
    )
    try:
        outcome = scorer.run(request)
    except (demur.DemurError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    if options.json:
        print_json(outcome.document)
    else:
        print(f"{outcome.text} → {options.output}")
    return int(outcome.failed)


def _scorer(task: str) -> Scorer:
    """Return the task's own scorer, or the one for rows."""
    if task not in SCORERS:
        return SCORER
    scorer: Scorer = imported(SCORERS[task])
    return scorer


def _shared() -> list[click.Parameter]:
    """Return the options of all tasks; unset ones are None."""
    return [
        click.Option(["--target"], help="host:port of the gRPC service.  [default: where `demur up` runs it]"),
        click.Option(
            ["--purpose"],
            type=click.Choice(("decide", "explore", "replay")),
            help="Purpose of the predictions.  [default: replay]",
        ),
        click.Option(
            ["--on-error"],
            type=click.Choice(get_args(OnError)),
            help="Treatment of items that cannot be scored. defer: their rows are deferred and give the reason; skip: "
            "they have no rows; fail: stop at the first. The rest is written, and the exit code is 1.  "
            "[default: defer]",
        ),
        click.Option(["--json"], is_flag=True, default=None, help="Print a JSON document."),
    ]


class _Tasks(click.Group):
    """Group with a command per task, made when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all tasks and row models."""
        return sorted({*served_names(), *SCORERS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a task, or None if there is no such task."""
        if cmd_name not in self.list_commands(ctx):
            return None
        scorer = _scorer(cmd_name)

        def callback(**values: Any) -> int:
            layers = (DEFAULTS, ctx.params, values)  # options after the task win over those before it
            known = {name: value for layer in layers for name, value in layer.items() if value is not None}
            unset = dict.fromkeys((*DEFAULTS, *values))
            return run(Options(**unset | known, task=cmd_name))

        examples = "\n".join(("\b", "Examples:", *(f"  {example}" for example in scorer.examples)))
        return Command(
            cmd_name,
            callback=callback,
            params=[
                click.Argument(["input"], type=Path),
                click.Argument(["output"], type=Path),
                *(declared(option) for option in scorer.options),
                *_shared(),
            ],
            help=f"Score {scorer.source}.\n\nINPUT: {scorer.source}.\n\nOUTPUT: {scorer.output}.",
            short_help=scorer.source,
            epilog=examples if scorer.examples else None,
            context_settings=CONTEXT,
        )


score = _Tasks(
    name="score",
    params=_shared(),
    help="Score a file of any length through a running service. Options may stand before or after the task.",
    epilog="Example: demur score vessel data/vessel/eval_out.csv scored.csv",
    context_settings=CONTEXT,
)
