"""Server process that serves both protocols from one copy of the model.

uvicorn owns the process and its HTTP socket, under ``demur serve`` (``services.app.server``) as under ``bentoml serve``
(``services.app.bento``); the gRPC server starts in the same event loop.
"""

import asyncio
import gc
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from models.artefact import Artefact, ArtefactError
from models.executors.failures import DeviceFailed, ProviderUnavailable
from services import __version__
from services.access.certificates import CertificateError, refusing
from services.access.factory import Access, open_access
from services.access.rules import PROBE_ROUTES, SERVICE_ROUTES, HttpRules
from services.access.tokens import TokensError
from services.access.watched_files import follow
from services.app.assembly import Assembled, assemble, qualify
from services.app.model_store import Store
from services.app.reference import find
from services.qualification.metrics import QualificationMetrics
from services.qualification.standing import model_document
from services.qualification.start import Qualification
from services.request.admission import Crowd
from services.request.metrics import Metrics
from services.runtime import logging
from services.runtime.addresses import address
from services.runtime.errors import DemurError, NotReady
from services.runtime.lifecycle import Lifecycle
from services.runtime.settings import Settings
from services.runtime.system import release_free_memory
from services.runtime.variables import SettingsError
from services.tracing.factory import Tracing, tracing
from services.tracing.trace import log_fields
from services.transport.grpc.server import GrpcServer
from services.transport.http.app import application, small_calls
from services.transport.http.call import AccessGuard
from services.transport.http.connections import harden
from services.transport.http.error_response import response_for
from services.transport.http.load_shedding import LoadShedder
from services.transport.http.probes import Probes, probe_answers
from services.transport.oip.model import OipModel
from services.transport.serving import Serving

_log = logging.get_logger(__name__)
QUALIFY_AGAIN_SECONDS, QUALIFY_LONGEST_SECONDS = 1.0, 300.0
"""Minimum and maximum time, in seconds, between a device failure in a qualification and the next attempt; doubled after
each failure.
"""
START_ERRORS = (
    ArtefactError,
    CertificateError,
    DemurError,
    ImportError,
    LookupError,
    OSError,
    ProviderUnavailable,
    RuntimeError,
    SettingsError,
    TokensError,
)
"""Errors of a start with unusable settings, files, network or device."""


class Process:
    """Server process; its host, ``services.app.server`` or BentoML's worker, calls start and stop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.shedder = LoadShedder(Crowd(settings.waiting_calls, time.monotonic))
        """Load shedder of uvicorn's HTTP protocol, which the host configures."""
        self.lifecycle: Lifecycle | None = None
        self._http: Any = None
        self._guard: Any = self._reason
        self._access: Access | None = None
        self._following: asyncio.Task[None] | None = None
        self._probes = Probes(lambda: self.ready)
        self._grpc: GrpcServer | None = None
        self._assembled: Assembled | None = None
        self._tracing: Tracing | None = None
        self._qualifying: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    def log(self) -> None:
        """Take over logging, including that of the host."""
        logging.configure(self.settings.log_level, {"task": self.settings.task}, log_fields)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a call as an ASGI application."""
        await self._guard(scope, receive, send)

    def front(self, host: Any) -> Any:
        """Return the ASGI application of uvicorn: this process and its probes; ``host`` sees start and stop only.

        BentoML's middlewares come before the application that it mounts; one of them keeps every call for the maximum
        duration of calls, an hour, at a kilobyte each. So calls bypass them.
        """
        probes = AccessGuard(probe_answers(lambda: self.ready, self), HttpRules(PROBE_ROUTES), None)

        async def answer(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                await host(scope, receive, send)
            else:
                await (probes if scope.get("path") in PROBE_ROUTES else self)(scope, receive, send)

        return answer

    async def _reason(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a call to the routes; before these exist, answer with the reason."""
        if self._http is not None:
            await self._http(scope, receive, send)
            return
        reason = "starting" if self.lifecycle is None else self.lifecycle.reason
        answer = response_for(str(scope.get("path", "")), NotReady(reason, code="not_ready"))
        await answer(scope, receive, send)

    @property
    def ready(self) -> bool:
        return self.lifecycle is not None and self.lifecycle.ready

    async def start(self) -> None:
        """Make the process ready; if it cannot serve its model, it stays alive and not ready, with the reason."""
        self.log()
        for name, meant in Settings.strangers().items():
            _log.warning("%s is no setting and is ignored%s", name, f"; {meant} is one" if meant else "")
        self.lifecycle = Lifecycle()
        await self._or_reason(self.lifecycle, self._start(self.lifecycle))

    async def _or_reason(self, lifecycle: Lifecycle, starting: Awaitable[None]) -> None:
        """Wait for a part of the start; if it fails, the process is not ready, with the reason."""
        try:
            await starting
        except START_ERRORS as error:
            lifecycle.reason = f"failed to start: {error}"
            _log.error(lifecycle.reason)

    async def _start(self, lifecycle: Lifecycle) -> None:
        """Load the model and serve it; if necessary, first measure its numeric profile in a background task."""
        settings = self.settings
        metrics = Metrics(settings.task, CollectorRegistry())
        access = await self._open(metrics)
        store = Store(settings.home)
        artefact = find(settings, store)
        logging.configure(settings.log_level, {"task": settings.task, "model": artefact.tag}, log_fields)
        qualification = qualify(artefact, settings, store.qualifications)
        await asyncio.to_thread(qualification.settle)
        serve = partial(self._serve, lifecycle, metrics, access, artefact, qualification)
        if qualification.pending:
            self._qualifying = asyncio.create_task(
                self._or_reason(lifecycle, self._qualified(lifecycle, qualification, serve))
            )
        else:
            await serve()

    async def _qualified(
        self, lifecycle: Lifecycle, qualification: Qualification, serve: Callable[[], Awaitable[None]]
    ) -> None:
        """Measure as long as a start may take, serve, and measure the rest, deferring everything until then.

        If the device fails in the first part, the self-test at start decides whether it computes at all.
        """

        def report_progress(share: float) -> None:
            lifecycle.reason = f"{qualification.standing.tables.reason}: {share:.0%} of the replay set"

        report_progress(0.0)
        seconds = self.settings.qualify_seconds
        stopped = self._stopping.is_set
        try:
            await asyncio.to_thread(qualification.measure, seconds, stopped=stopped, progress=report_progress)
        except DeviceFailed as error:
            _log.error("%s while the replay set was measured; the rest is measured after the start", error)
        if self._stopping.is_set():
            return
        await serve()
        if qualification.pending and self._assembled is not None:
            await self._measure_rest(qualification, self._assembled)

    async def _measure_rest(self, qualification: Qualification, assembled: Assembled) -> None:
        """Measure the rest of the replay set while serving, and put the verdict in force.

        A device that fails meanwhile is unhealthy as after a failed request. The measurement continues where it stopped
        once a probe has passed, later after each further failure. Any other error ends it: everything stays deferred.
        """
        health, seconds = assembled.health, QUALIFY_AGAIN_SECONDS
        while qualification.pending and not self._stopping.is_set():
            try:
                await asyncio.to_thread(qualification.measure, stopped=self._stopping.is_set)
            except DeviceFailed as error:
                health.failed(error.kind)
                _log.error("%s while the replay set was measured; tried again in %g s at the earliest", error, seconds)
                await self._pause(seconds)
                while health.reason and not self._stopping.is_set():
                    await self._pause(health.first_seconds)
                seconds = min(2 * seconds, QUALIFY_LONGEST_SECONDS)
            except START_ERRORS as error:
                reason = f"the measurement of the numeric profile failed: {error}"
                _log.error("%s; everything is deferred until the next start", reason)
                tables = replace(qualification.standing.tables, origin="unqualified", reason=reason)
                qualification.standing = replace(qualification.standing, tables=tables)
        if not qualification.pending:
            assembled.adopt(qualification.standing.tables)

    async def _pause(self, seconds: float) -> None:
        """Wait until the time is over or the process is stopped."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _serve(
        self,
        lifecycle: Lifecycle,
        metrics: Metrics,
        access: Access,
        artefact: Artefact,
        qualification: Qualification,
    ) -> None:
        """Test and warm up the model, listen for gRPC, and report ready."""
        settings = self.settings
        self._tracing = tracing(settings, artefact.tag, metrics.registry, os.environ)
        self._assembled = assembled = assemble(artefact, settings, metrics, qualification.standing.tables)
        tenant = assembled.tenant
        tenant.warm_up()
        await assembled.warm()
        await assembled.start()
        metrics.info(__version__, artefact.tag, profile=tenant.pipeline.profile, provider=settings.provider)
        metrics.turned_away(lambda: {("http", "429"): self.shedder.refused})
        QualificationMetrics(settings.task, metrics.registry, lambda: qualification.standing)
        serving = Serving(
            tenant,
            settings,
            metrics,
            assembled.label_service,
            assembled.keeper,
            self._tracing.tracer,
            about=lambda: model_document(artefact, qualification.standing),
        )
        oip = OipModel(tenant, metrics, lambda: lifecycle.ready)
        self._grpc = GrpcServer(serving, oip_model=oip, access=access)
        _, port = settings.ports
        await self._grpc.start(address(settings.host, port))
        self._http = application(serving, lifecycle, oip_model=oip)
        self.shedder.small_calls = small_calls(serving, lifecycle, access.authenticator, oip_model=oip)
        self._chain_signals()
        gc.collect()
        release_free_memory()  # of loading and warm-up
        gc.freeze()  # loaded objects stay: later collections skip them
        lifecycle.reason = ""
        lifecycle.trouble = lambda: assembled.health.reason
        assembled.health.on_change(self._device_changed)
        await self._grpc.ready()
        _log.info("ready", extra={"fields": {"ports": settings.ports, "tracing": settings.tracing}})

    async def _device_changed(self) -> None:
        """Report a change of the device's health to gRPC's probes; those of HTTP read the lifecycle."""
        assert self._grpc is not None
        assert self.lifecycle is not None
        if self.lifecycle.ready:
            await self._grpc.ready()
        elif not self.lifecycle.leaving:
            await self._grpc.unready()

    async def _open(self, metrics: Metrics) -> Access:
        """Set up access control and connection limits, before any route exists.

        Raises:
            CertificateError, TokensError: a file cannot be used; all connections are then refused.
            OSError: the probe port is taken.
        """
        settings = self.settings
        if settings.probe_port:
            await self._probes.start(settings.host, settings.probe_port)
        config = _uvicorn_config()
        if config is not None:
            config.loaded_app = self.front(config.loaded_app)
            harden(config, settings, None, self.shedder)
            config.ssl = refusing() if settings.tls_certificate else None
        access = open_access(settings, settings.task, metrics.registry)
        if config is not None and access.certificates is not None:
            harden(config, settings, access.certificates, self.shedder)
        self._guard = AccessGuard(self._reason, HttpRules(SERVICE_ROUTES), access.authenticator, metrics.request)
        if access.watched:
            self._following = asyncio.create_task(follow(access.watched))
        return access

    async def stop(self) -> None:
        """End the remaining work after the drain."""
        self._stopping.set()
        if self._qualifying is not None:
            await asyncio.gather(self._qualifying, return_exceptions=True)
        if self._following is not None:
            self._following.cancel()
        await self._probes.stop()
        if self._grpc is not None:
            await self._grpc.drain(0)
        if self._assembled is not None:
            await self._assembled.stop()
            self._assembled.close()
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.stop)

    def _chain_signals(self) -> None:
        """Drain both protocols before uvicorn handles a signal; a second signal is passed to uvicorn at once."""
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
    """Shut down the listening sockets of a port, which a parent may share: connects are refused at once."""
    for entry in Path("/proc/self/fd").iterdir() if Path("/proc/self/fd").exists() else ():
        with suppress(OSError, ValueError):
            listener = socket.socket(fileno=os.dup(int(entry.name)))
            with listener:
                listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if listening and listener.getsockname()[1] == port:
                    listener.shutdown(socket.SHUT_RDWR)


def _uvicorn_config() -> Any:
    """Return the configuration of the host's uvicorn server, found by its signal handler; None: none is installed."""
    server = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    return getattr(server, "config", None)
