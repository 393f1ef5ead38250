"""The command line. Exit codes: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence

from models.artefact import ArtefactError
from models.executors.failures import DeviceFailed, ProviderUnavailable
from services import __version__
from services.cli.output import BadInput, CommandError
from services.runtime.variables import SettingsError

COMMANDS = {
    "up": "start every service and wait until they are ready",
    "down": "stop what `demur up` started",
    "status": "where the services are and whether they are ready",
    "serve": "serve one task in this process",
    "data": "simulate a task's data in the official format",
    "train": "train an ensemble and write it as an artefact",
    "models": "list, show, verify, import and fetch artefacts",
    "score": "score a file of any length through a running service",
    "policy": "who is answered: show it, change it, ask what another threshold would do",
    "ledger": "back up, check and restore what was decided and labelled",
    "tokens": "who may do what: make, list, revoke and rotate tokens",
    "audit": "who changed policies, labelled and erased, and when",
    "monitor": "live retention: what deferring costs and saves, live or of a logged stream",
    "evaluate": "judge files of predictions: errors, retention, uncertainty, with a report",
    "calibrate": "choose a threshold with a certificate: risk, retention or capacity",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; the entry point of ``demur``."""
    parser = argparse.ArgumentParser(
        prog="demur",
        description="Model serving that knows when not to answer.",
        epilog="example: demur up",
    )
    parser.add_argument("--version", action="version", version=f"demur {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    given = list(sys.argv[1:] if arguments is None else arguments)
    wanted = next((word for word in given if word in COMMANDS), None)
    for name, text in COMMANDS.items():
        command = commands.add_parser(
            name, help=text, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == wanted:  # only the command that runs is imported: training needs torch, serving does not
            module = importlib.import_module(f"services.cli.{name}")
            command.epilog = f"example: {module.EXAMPLE}"
            module.arguments(command)
            command.set_defaults(run=module.run)
    parsed = parser.parse_args(given)
    run: Callable[[argparse.Namespace], int] = parsed.run
    try:
        code = run(parsed)
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"demur {parsed.command}: {error}", file=sys.stderr)
        return 2
    except (CommandError, SettingsError, ArtefactError, DeviceFailed, ProviderUnavailable, LookupError) as error:
        if isinstance(error, IndexError | KeyError):  # ours, not the user's: the store raises LookupError itself
            raise
        print(f"demur {parsed.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
