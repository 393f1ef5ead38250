"""BentoML service, the entry point of ``bentoml serve`` and ``bentoml build``; ``demur serve`` does without it.

BentoML imports this module in the supervising process, too, which serves nothing: what a server needs is imported when
the server process starts. The task is chosen by DEMUR_TASK, so one image serves all five.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import bentoml

from services.app.supervisor import supervise
from services.runtime import logging
from services.runtime.settings import Settings
from services.runtime.system import die_with_parent
from services.transport.grpc.polling import use_older_poller

if TYPE_CHECKING:
    from services.app.process import Process


@cache
def process() -> "Process":
    """Return the server process, made at the first call."""
    use_older_poller(os.environ)
    from services.app.process import Process

    return Process(Settings.read())


class Front:
    """ASGI middleware that leaves only start and stop to BentoML's application."""

    def __init__(self, app: Any) -> None:
        self._app = process().front(app)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """Handle a call as the ASGI application that BentoML mounts."""
    await process()(scope, receive, send)


@bentoml.service(
    name="demur",
    workers=1,
    metrics={"enabled": False},
    logging={"access": {"enabled": False}},
    traffic={"timeout": 3600},
    tracing={"excluded_urls": ".*"},  # own spans of BentoML, which nothing collects
)
class Demur:
    """BentoML service of one task."""

    def __init__(self) -> None:
        process().log()

    @bentoml.on_deployment  # type: ignore[untyped-decorator]
    @staticmethod
    def prepare() -> None:
        """Set up logging and supervision in the parent process."""
        settings = Settings.read()
        logging.configure(settings.log_level, {"task": settings.task})
        supervise()

    @bentoml.on_startup  # type: ignore[untyped-decorator]
    async def start(self) -> None:
        die_with_parent()
        await process().start()

    @bentoml.on_shutdown  # type: ignore[untyped-decorator]
    async def stop(self) -> None:
        await process().stop()

    def __is_ready__(self) -> bool:
        return process().ready


Demur.add_asgi_middleware(Front)  # type: ignore[attr-defined]
Demur.mount_asgi_app(serve, path="/", name="demur")  # type: ignore[attr-defined]
