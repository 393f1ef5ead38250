"""``demur down``: stops what ``demur up`` started, after it drained."""

import os
import signal
import time

from click import option

from services.cli.options import Options, command
from services.cli.output import CommandError
from services.cli.processes import Held, alive, check_free
from services.runtime.settings import Settings


@command("down", example="demur down")
@option("--seconds", type=float, default=150.0, show_default=True, help="Longest wait for the drain, in seconds.")
def down(options: Options) -> int:
    """Stop what `demur up` started, after it has drained."""
    try:
        check_free(Settings.read().home)
    except Held as held:
        _stop(held.pid, options.seconds)
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
