"""HTTP server of a process beside the services: the monitor, or the review console."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from services.access.factory import Access
from services.access.watched_files import follow
from services.cli.output import CommandError
from services.cli.processes import Running, announce, holder, started
from services.runtime import logging
from services.runtime.addresses import address
from services.runtime.settings import Settings
from services.runtime.system import die_with_parent
from services.transport.http.probes import Probes

_log = logging.get_logger(__name__)
Beside = Callable[[object], AbstractAsyncContextManager[None]]


def prepare(settings: Settings, name: str, host: str, port: int) -> None:
    """Prepare the process: its port is free, its log configured, and it ends with its parent.

    Raises:
        CommandError: the port is in use.
    """
    if (process := holder(host, port)) is not None:
        raise CommandError(f"port {port} is in use by {process}; stop it, or set DEMUR_{name.upper()}_PORT")
    logging.configure(settings.log_level, {"task": name})
    die_with_parent()


def serve(
    app: Any, settings: Settings, name: str, host: str, port: int, access: Access, begin: Callable[[], None]
) -> None:
    """Announce the process and serve an application until a signal comes.

    Args:
        begin: called once the server is configured, before it listens.
    """
    import uvicorn

    from services.transport.http.connections import harden
    from services.transport.http.server import EventDrivenServer

    pid, certificate = os.getpid(), settings.tls_certificate
    announce(settings.home, Running(name, pid, host, port, 0, "", started(pid), certificate, settings.probe_port))
    _log.info("serving", extra={"fields": {"url": f"http{'s' * bool(certificate)}://{address(host, port)}"}})
    config = uvicorn.Config(app, host=host, port=port, log_config=None, access_log=False, timeout_graceful_shutdown=2)
    config.load()
    harden(config, settings, access.certificates)
    begin()
    EventDrivenServer(config).run()


def lifespan(settings: Settings, ready: Callable[[], bool], access: Access) -> Beside:
    """Return the lifespan of the server: probes, and reloading of token and certificate files."""

    @asynccontextmanager
    async def beside(app: object) -> AsyncIterator[None]:
        probes = Probes(ready)
        following = asyncio.create_task(follow(access.watched))
        try:
            if settings.probe_port:
                await probes.start(settings.host, settings.probe_port)
            yield
        finally:
            following.cancel()
            await probes.stop()

    return beside
