"""An artefact behind both protocols, as a process serves it but for the sockets of HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
from prometheus_client import CollectorRegistry

from models.artefact import Artefact
from services.app.assembly import Assembled, assemble
from services.request.metrics import Metrics
from services.runtime.lifecycle import Lifecycle
from services.runtime.settings import TASK_DEFAULTS, Settings
from services.runtime.task_entry import TaskEntry
from services.transport.grpc.server import GrpcServer
from services.transport.http.app import application
from services.transport.serving import Serving

UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


@asynccontextmanager
async def artefact_served(
    artefact: Artefact, task: str, home: Path | None = None, entry: TaskEntry | None = None, **settings: Any
) -> AsyncIterator[tuple[Assembled, grpc.aio.Channel, httpx.AsyncClient]]:
    """Serve an artefact of a task; decisions are recorded where a home is given.

    Args:
        entry: entry of a task that is not in the registry.
    """
    place = {"ledger": "none"} if home is None else {"home": home, "ledger_deadline_seconds": 5.0}  # busy machines
    defaults = dict(TASK_DEFAULTS.get(task, {}) if entry is None else entry.defaults)
    chosen = Settings(
        **(defaults | {"task": task, "lanes": 1, "drain_seconds": 5.0, "waiting_calls": 1000} | place | settings)
    )
    metrics, lifecycle = Metrics(task, CollectorRegistry()), Lifecycle()
    assembled = assemble(artefact, chosen, metrics, entry=entry)
    try:
        assembled.tenant.warm_up()
        await assembled.start()
        try:
            serving = Serving(assembled.tenant, chosen, metrics, assembled.label_service, assembled.keeper)
            server = GrpcServer(serving)
            await server.start(f"127.0.0.1:{chosen.grpc_port}")  # 0: any
            try:
                lifecycle.reason = ""
                await server.ready()
                app = application(serving, lifecycle)
                transport = httpx.ASGITransport(app, raise_app_exceptions=True)
                async with (
                    grpc.aio.insecure_channel(f"127.0.0.1:{server.port}", UNLIMITED) as channel,
                    httpx.AsyncClient(transport=transport, base_url=f"http://{task}", timeout=60) as http,
                ):
                    yield assembled, channel, http
            finally:  # after a failed test, too: a server that is left ends the whole run with an error of its own
                await server.drain(0)
        finally:
            await assembled.stop()
    finally:
        assembled.close()
