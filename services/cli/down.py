"""``demur down``: stops what ``demur up`` started, after it drained."""

from __future__ import annotations

import argparse
import os
import signal
import time

from services.cli.output import CommandError
from services.cli.places import alive
from services.settings import Settings

EXAMPLE = "demur down"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to wait for the drain")


def run(given: argparse.Namespace) -> int:
    """Sends SIGTERM and waits."""
    lock = Settings.read().home / "up.lock"
    text = lock.read_text().strip() if lock.exists() else ""
    if not text or not alive(int(text)):
        print("nothing is up")
        return 0
    pid = int(text)
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + given.seconds
    while alive(pid):
        if time.monotonic() > deadline:
            raise CommandError(f"pid {pid} has not ended within {given.seconds:g} s")
        time.sleep(0.1)
    print(f"stopped pid {pid}")
    return 0
