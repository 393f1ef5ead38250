"""``demur monitor run``: the live monitor in the foreground, over HTTP."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from prometheus_client import CollectorRegistry

from services.access.factory import Access, check_access, open_access
from services.access.rules import MONITOR_ROUTES, HttpRules
from services.access.watched_files import follow
from services.cli.options import Options, command
from services.cli.output import CommandError
from services.cli.processes import MONITOR, Running, announce, holder, started
from services.monitor.exporter import Exporter
from services.monitor.http import Routes, application
from services.monitor.setup import monitor
from services.runtime import logging
from services.runtime.settings import Settings, address
from services.runtime.system import die_with_parent
from services.transport.http.call import AccessGuard
from services.transport.http.probes import Probes

_log = logging.get_logger(__name__)
_STOP_SECONDS = 5.0
Beside = Callable[[object], AbstractAsyncContextManager[None]]


@command("run", example="demur monitor run")
def run(options: Options) -> int:
    """Follow the ledgers and serve live retention over HTTP; docs/settings.md lists its settings."""
    import uvicorn

    from services.transport.http.connections import harden
    from services.transport.http.server import EventDrivenServer

    settings = Settings.read(task=MONITOR)  # else those of the default task would count
    host, port = settings.monitor_address
    if (process := holder(host, port)) is not None:
        raise CommandError(f"port {port} is in use by {process}; stop it, or set DEMUR_MONITOR_PORT")
    logging.configure(settings.log_level, {"task": MONITOR})
    die_with_parent()
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
    pid, certificate = os.getpid(), settings.tls_certificate
    announce(settings.home, Running(MONITOR, pid, host, port, 0, "", started(pid), certificate, settings.probe_port))
    _log.info("serving", extra={"fields": {"url": f"http{'s' * bool(certificate)}://{address(host, port)}"}})
    served = AccessGuard(
        application(routes, _beside(settings, routes, access)), HttpRules(MONITOR_ROUTES), access.authenticator
    )
    config = uvicorn.Config(
        served, host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=2
    )
    config.load()
    harden(config, settings, access.certificates)
    worker.start()
    try:
        EventDrivenServer(config).run()
    finally:
        stop.set()
        worker.join(_STOP_SECONDS)
        made.close()
    return 0


def _beside(settings: Settings, routes: Routes, access: Access) -> Beside:
    """Return the lifespan of the server: probes, and reloading of token and certificate files."""

    @asynccontextmanager
    async def beside(app: object) -> AsyncIterator[None]:
        probes = Probes(lambda: not routes.hindrance)
        following = asyncio.create_task(follow(access.watched))
        try:
            if settings.probe_port:
                await probes.start(settings.host, settings.probe_port)
            yield
        finally:
            following.cancel()
            await probes.stop()

    return beside
