"""The BentoML service: one process that serves both protocols from one copy of the model.

BentoML owns the process and its HTTP socket; the gRPC server starts in the same event loop. The task
is chosen at start by DEMUR_TASK, so one image serves all five.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import bentoml
from prometheus_client import CollectorRegistry

from models.artefact import ArtefactError
from models.executors.onnx import ProviderUnavailable
from services import __version__, logging
from services.assembly import Assembled, assemble
from services.errors import NotReady
from services.lifecycle import Lifecycle
from services.metrics import Metrics
from services.reference import find
from services.settings import Settings, address
from services.store import Store
from services.system import die_with_parent
from services.transport.grpc.server import GrpcServer
from services.transport.http.app import application
from services.transport.http.body import error_response
from services.variables import SettingsError

_log = logging.get_logger(__name__)


class Process:
    """What runs in the worker; BentoML calls start and stop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.lifecycle: Lifecycle | None = None
        self._http: Any = None
        self._grpc: GrpcServer | None = None
        self._assembled: Assembled | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application that BentoML mounts."""
        if self._http is None:
            reason = "starting" if self.lifecycle is None else self.lifecycle.reason
            answer = error_response(NotReady(reason, code="not_ready"))
            await answer(scope, receive, send)
            return
        await self._http(scope, receive, send)

    async def start(self) -> None:
        """Makes the process ready; one that cannot serve its model stays alive, not ready, and says why."""
        settings = self.settings
        logging.configure(settings.log_level)
        die_with_parent()
        for name, meant in Settings.strangers().items():
            _log.warning("%s is no setting and is ignored%s", name, f"; {meant} is one" if meant else "")
        self.lifecycle = Lifecycle()
        try:
            await self._start(self.lifecycle)
        except (ArtefactError, ImportError, LookupError, ProviderUnavailable, RuntimeError, SettingsError) as error:
            self.lifecycle.reason = f"failed to start: {error}"
            _log.error(self.lifecycle.reason, extra={"fields": {"task": settings.task}})

    async def _start(self, lifecycle: Lifecycle) -> None:
        """Loads, tests and warms the model, then listens for gRPC and reports ready."""
        settings = self.settings
        metrics = Metrics(settings.task, CollectorRegistry())
        artefact = find(settings, Store(settings.home))
        self._assembled = assemble(artefact, settings, metrics)
        tenant = self._assembled.tenant
        tenant.warm_up()
        await self._assembled.start()
        metrics.info(__version__, artefact.tag)
        desk, keeper = self._assembled.desk, self._assembled.keeper
        self._grpc = GrpcServer(tenant, settings, metrics, desk, keeper)
        _, port = settings.ports
        await self._grpc.start(address(settings.host, port))
        self._http = application(tenant, settings, metrics, lifecycle, desk, keeper)
        self._chain_signals()
        gc.collect()
        gc.freeze()  # what is loaded stays: later collections need not walk through it
        lifecycle.reason = ""
        await self._grpc.ready()
        _log.info("ready", extra={"fields": {"task": settings.task, "model": artefact.tag, "ports": settings.ports}})

    async def stop(self) -> None:
        """Ends what is left after the drain."""
        if self._grpc is not None:
            await self._grpc.drain(0)
        if self._assembled is not None:
            await self._assembled.stop()
            self._assembled.close()

    def _chain_signals(self) -> None:
        """Drains both protocols before uvicorn hears of the signal; a second signal is uvicorn's at once."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            following: Any = signal.getsignal(number)

            def handle(received: int, frame: Any, following: Any = following) -> None:
                assert self.lifecycle is not None
                if self.lifecycle.leaving:
                    following(received, frame)
                    return
                self.lifecycle.leaving = True
                loop.call_soon_threadsafe(
                    lambda: asyncio.ensure_future(self._drain(lambda: following(received, frame)))
                )

            signal.signal(number, handle)

    async def _drain(self, then: Any) -> None:
        assert self._grpc is not None
        assert self.lifecycle is not None
        _log.info("draining")
        http, _ = self.settings.ports
        await self.lifecycle.drain(
            self._grpc.drain, self.settings.drain_seconds, stop_listening=lambda: stop_listening(http)
        )
        _log.info("drained")
        then()


def stop_listening(port: int) -> None:
    """Shuts the listening sockets of a port, also for the parent that shares them: connects are refused at once."""
    for entry in Path("/proc/self/fd").iterdir() if Path("/proc/self/fd").exists() else ():
        with suppress(OSError, ValueError):
            listener = socket.socket(fileno=os.dup(int(entry.name)))
            with listener:
                listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if listening and listener.getsockname()[1] == port:
                    listener.shutdown(socket.SHUT_RDWR)


_process = Process(Settings.read())


@bentoml.service(
    name="demur",
    workers=1,
    metrics={"enabled": False},
    logging={"access": {"enabled": False}},
    traffic={"timeout": 3600},
)
class Demur:
    """The service that `bentoml serve` and `bentoml build` know."""

    @bentoml.on_startup  # type: ignore[untyped-decorator]
    async def start(self) -> None:
        await _process.start()

    @bentoml.on_shutdown  # type: ignore[untyped-decorator]
    async def stop(self) -> None:
        await _process.stop()

    def __is_ready__(self) -> bool:
        return _process.lifecycle is not None and _process.lifecycle.ready


Demur.mount_asgi_app(_process, path="/", name="demur")  # type: ignore[attr-defined]
