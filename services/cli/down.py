"""``demur down``: stops what ``demur up`` started, after it drained."""

from __future__ import annotations

import argparse
import os
import signal
import time

from services.cli.lock import Held, check_free
from services.cli.output import CommandError
from services.cli.places import alive
from services.runtime.settings import Settings

EXAMPLE = "demur down"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=150.0, help="how long to wait for the drain, in seconds")


def run(given: argparse.Namespace) -> int:
    """Sends SIGTERM and waits."""
    try:
        check_free(Settings.read().home)
    except Held as held:
        _stop(held.pid, given.seconds)
    else:
        print("nothing is up")
    return 0


def _stop(pid: int | None, seconds: float) -> None:
    if pid is None:
        raise CommandError("`demur up` is running, but up.lock does not say as which process: it may just be starting")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    except PermissionError as error:
        raise CommandError(f"pid {pid} is another user's") from error
    deadline = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > deadline:
            raise CommandError(f"pid {pid} has not ended within {seconds:g} s")
        time.sleep(0.1)
    print(f"stopped pid {pid}")
