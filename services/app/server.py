"""Server process of ``demur serve``: ``Process`` under uvicorn, without BentoML and its supervising process.

One process is smaller than two, and whoever starts services watches them anyway: a container runtime, an init system,
or ``demur up``. ``python -m services.app.server`` reads everything from the environment, as the command left it.
"""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from services.app.process import Process
    from services.runtime.settings import Settings


def main() -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code: 0 after a drain, 1 if the port is taken."""
    for number in (signal.SIGTERM, signal.SIGINT):  # the first process of a container ignores both by default
        signal.signal(number, _end)
    from services.runtime import logging  # late: a signal meanwhile ends the process
    from services.runtime.settings import Settings
    from services.transport.grpc.polling import use_older_poller

    use_older_poller(os.environ)

    settings = Settings.read()
    logging.configure(settings.log_level, {"task": settings.task})
    from services.app.process import Process

    try:
        run(Process(settings), settings)
    except OSError as error:
        logging.get_logger(__name__).error("failed to listen on port %d: %s", settings.ports[0], error)
        return 1
    return 0


def run(process: "Process", settings: "Settings") -> None:
    """Serve a process on its HTTP port until a signal has ended it.

    Connections are accepted at once and wait until the process has started.

    Raises:
        OSError: the port is taken, or the address is not local.
    """
    from services.transport.http.server import EventDrivenServer, listening

    host, (port, _) = settings.host, settings.ports
    with listening(host, port) as listener:
        server = EventDrivenServer(_config(process, settings))
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises them once more at its end
            signal.signal(number, server.handle_exit)
        server.run(sockets=[listener])


def _config(process: "Process", settings: "Settings") -> Any:
    """Return uvicorn's configuration; ``Process`` adds limits, TLS and load shedding when it starts."""
    import uvicorn
    from starlette.applications import Starlette

    @contextlib.asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        await process.start()
        try:
            yield
        finally:
            await process.stop()

    return uvicorn.Config(
        process.front(Starlette(lifespan=lifespan)),
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.drain_seconds) + 5,
    )


def _end(number: int, frame: FrameType | None) -> None:
    """End a process that does not serve yet."""
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
