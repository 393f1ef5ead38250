"""Command line of Demur. Exit codes: 0 done, 1 failed, 2 wrong usage."""

import os
import sys
from collections.abc import Sequence

import click

from services import __version__
from services.cli.options import LazyGroup
from services.cli.output import BadInput, CommandError
from services.runtime.variables import SettingsError

COMMANDS = {
    "up": "Start every service and wait until they are ready.",
    "down": "Stop what `demur up` started.",
    "status": "Show where the services are and whether they are ready.",
    "serve": "Serve one task in this process.",
    "data": "Simulate a task's data, or convert files, in the official format.",
    "train": "Train an ensemble and write it as an artefact.",
    "new": "Write a package for a task of your own, with contract tests.",
    "models": "List, show, verify, import, fetch and qualify artefacts.",
    "score": "Score a file of any length through a running service.",
    "policy": "Show and change thresholds; estimate the effect of other thresholds.",
    "ledger": "Back up, check and restore decisions and labels.",
    "tokens": "Create, list, revoke and rotate access tokens.",
    "audit": "List changes of policies, labels, requests and erasures.",
    "monitor": "Monitor live retention, or evaluate a logged stream.",
    "review": "Serve the page on which people label what was deferred.",
    "evaluate": "Evaluate files of predictions: errors, retention, uncertainty, with a report.",
    "calibrate": "Choose a threshold with a certificate: risk, retention or capacity.",
}

cli = LazyGroup(
    name="demur",
    places={name: f"services.cli.{name}:{name}" for name in COMMANDS},
    texts=COMMANDS,
    help="Model serving with a reject option: predictions with uncertainty, and deferral of uncertain ones.",
    epilog="Example: demur up",
)
click.version_option(__version__, prog_name="demur", message="%(prog)s %(version)s")(cli)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; the entry point of ``demur``."""
    command = ""
    try:
        with cli.make_context("demur", list(sys.argv[1:] if arguments is None else arguments)) as context:
            try:
                code: int = cli.invoke(context)
            finally:
                command = context.invoked_subcommand or ""
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as end:  # --help, --version
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of the output, such as head, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if not _expected(error):
            raise
        print(f"demur {command}: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadInput) else 1


def _expected(error: Exception) -> bool:
    """Return whether an error is the user's to solve, so that its message is enough."""
    from models.artefact import ArtefactError  # late: numpy takes longer than most commands
    from models.executors.failures import DeviceFailed, ProviderUnavailable

    if isinstance(error, CommandError | SettingsError | ArtefactError | DeviceFailed | ProviderUnavailable):
        return True
    return isinstance(error, LookupError) and not isinstance(error, IndexError | KeyError)  # of the model store
