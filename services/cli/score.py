"""``demur score TASK IN OUT``: files through the running service, by what the task's files are."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import get_args

import demur
from services.cli import options, score_rows
from services.cli.output import CommandError, ProgressLine, print_json
from services.cli.places import announced
from services.runtime.settings import Settings, address
from services.tasks import SCORERS, TENANTS
from services.tasks.scoring import Asked, OnError, Scorer

EXAMPLE = "demur score vessel data/vessel/eval_out.csv scored.csv"


def arguments(parser: argparse.ArgumentParser) -> None:
    """A sub-command for each task; what all have may stand before or behind the task."""
    _shared(parser, known=True)
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK")
    for name in sorted({*TENANTS, *SCORERS}):
        scorer = _scorer(name)
        command = tasks.add_parser(
            name,
            help=scorer.source,
            description=f"Scores {scorer.source}.",
            epilog="\n".join(("examples:", *(f"  {example}" for example in scorer.examples)))
            if scorer.examples
            else "",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("input", type=Path, help=scorer.source)
        command.add_argument("output", type=Path, help=scorer.output)
        for option in scorer.options:
            options.add(command, option)
        _shared(command, known=False)


def run(given: argparse.Namespace) -> int:
    """Scores, and says what came of it; 1 where a part could not be scored."""
    scorer = _scorer(given.task)
    settings = Settings.read(task=given.task)
    running = announced(settings.home).get(given.task)
    line = ProgressLine(f"scoring {given.input.name}")
    asked = Asked(
        task=given.task,
        source=given.input,
        output=given.output,
        target=given.target or (running.grpc if running else address(settings.host, settings.ports[1])),
        purpose=given.purpose,
        progress=line,
        tell=(lambda text: None) if given.json else line.interrupt,
        on_error=given.on_error,
        options={option.key: getattr(given, option.key) for option in scorer.options},
    )
    try:
        outcome = scorer.run(asked)
    except (demur.DemurError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    if given.json:
        print_json(outcome.document)
    else:
        print(f"{outcome.told} → {given.output}")
    return int(outcome.failed)


def _scorer(task: str) -> Scorer:
    """What scores the task's files: its own, or the one for rows."""
    if task not in SCORERS:
        return score_rows.SCORER
    module, _, name = SCORERS[task].partition(":")
    found: Scorer = getattr(importlib.import_module(module), name)
    return found


def _shared(parser: argparse.ArgumentParser, *, known: bool) -> None:
    """Options of all tasks; behind the task they only say what was not said before it."""

    def default(value: object) -> object:
        return value if known else argparse.SUPPRESS

    parser.add_argument(
        "--target", default=default(None), help="host:port of the gRPC service; default: where `demur up` runs it"
    )
    purposes = ("decide", "explore", "replay")
    parser.add_argument("--purpose", choices=purposes, default=default("replay"), help="default: replay")
    parser.add_argument(
        "--on-error",
        choices=get_args(OnError),
        default=default("defer"),
        help="what cannot be scored: defer (default): its row is deferred and says why; skip: it has no row; "
        "fail: stop there. What was written stays, and the command ends with 1",
    )
    parser.add_argument("--json", action="store_true", default=default(False), help="print a JSON document")
