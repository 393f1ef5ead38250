"""``demur monitor run``: the live monitor in the foreground, over HTTP."""

import threading

from prometheus_client import CollectorRegistry

from services.access.factory import check_access, open_access
from services.access.rules import MONITOR_ROUTES, HttpRules
from services.cli import companion
from services.cli.options import Options, command
from services.cli.output import CommandError
from services.cli.processes import MONITOR
from services.monitor.exporter import Exporter
from services.monitor.http import Routes, application
from services.monitor.setup import monitor
from services.runtime.ports import monitor_address
from services.runtime.settings import Settings
from services.transport.http.call import AccessGuard

_STOP_SECONDS = 5.0


@command("run", example="demur monitor run")
def run(options: Options) -> int:
    """Follow the ledgers and serve live retention over HTTP; docs/settings.md lists its settings."""
    settings = Settings.read(task=MONITOR)  # else those of the default task would count
    host, port = monitor_address(settings)
    companion.prepare(settings, MONITOR, host, port)
    check_access(settings)
    registry = CollectorRegistry()
    access = open_access(settings, MONITOR, registry)
    try:
        made = monitor(settings)
    except PermissionError as error:
        raise CommandError(
            f"{error.filename}: {error.strerror}; DEMUR_HOME has to be a directory that this user may read and write"
        ) from error
    routes = Routes(Exporter(registry))
    stop = threading.Event()
    worker = threading.Thread(
        target=made.run, args=(stop, routes.publish, settings.monitor_seconds), name="monitor", daemon=True
    )
    beside = companion.lifespan(settings, lambda: not routes.hindrance, access)
    app = AccessGuard(application(routes, beside), HttpRules(MONITOR_ROUTES), access.authenticator)
    try:
        companion.serve(app, settings, MONITOR, host, port, access, worker.start)
    finally:
        stop.set()
        if worker.ident is not None:
            worker.join(_STOP_SECONDS)
        made.close()
    return 0
