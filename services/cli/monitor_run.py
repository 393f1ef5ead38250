"""``demur monitor run``: the live monitor in the foreground, over HTTP."""

from __future__ import annotations

import argparse
import os
import sys
import threading

from services import logging
from services.cli.output import CommandError
from services.cli.places import MONITOR, Running, announce, started
from services.cli.ports import holder
from services.monitor.exporter import Exporter
from services.monitor.http import Routes, application
from services.monitor.setup import monitor
from services.settings import Settings, address
from services.system import die_with_parent

EXAMPLE = "demur monitor run"
_STOP_SECONDS = 5.0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing but settings: see docs/settings.md."""


def run(given: argparse.Namespace) -> int:
    """Follows the ledgers and serves what is known until a signal."""
    import uvicorn

    settings = Settings.read()
    host, port = settings.monitor_address
    if (found := holder(host, port)) is not None:
        raise CommandError(f"port {port} is taken by {found}; stop it, or set DEMUR_MONITOR_PORT")
    logging.configure(settings.log_level)
    die_with_parent()
    try:
        made = monitor(settings)
    except PermissionError as error:
        raise CommandError(
            f"{error.filename}: {error.strerror}; DEMUR_HOME has to be a directory that this user may read and write"
        ) from error
    routes = Routes(Exporter(), made.judge)
    stop = threading.Event()
    worker = threading.Thread(
        target=made.run, args=(stop, routes.publish, settings.monitor_seconds), name="monitor", daemon=True
    )
    announce(settings.home, Running(MONITOR, os.getpid(), host, port, 0, "", started(os.getpid())))
    print(f"monitor: http://{address(host, port)}", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        application(routes), host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=2
    )
    worker.start()
    try:
        uvicorn.Server(config).run()
    finally:
        stop.set()
        worker.join(_STOP_SECONDS)
        made.close()
    return 0
