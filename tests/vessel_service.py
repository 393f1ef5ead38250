"""The vessel service in a thread of this process: its pipeline, its reference model, its gRPC server."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry

from models import artefact
from services.app.assembly import assemble
from services.request.metrics import Metrics
from services.runtime.settings import Settings
from services.transport.grpc.server import GrpcServer
from services.transport.serving import Serving

ARTEFACT = Path(__file__).parents[1] / "artefacts" / "vessel" / "dnn-10"


@contextmanager
def vessel_service() -> Iterator[str]:
    """The gRPC address of the service, while it serves."""
    settings, metrics = Settings(), Metrics("vessel", CollectorRegistry())
    assembled = assemble(artefact.read(ARTEFACT), settings, metrics)
    started: list[str] = []
    up, over = threading.Event(), threading.Event()

    async def serve() -> None:
        server = GrpcServer(Serving(assembled.tenant, settings, metrics))
        await server.start("127.0.0.1:0")
        await server.ready()
        started.append(f"127.0.0.1:{server.port}")
        up.set()
        await asyncio.to_thread(over.wait)
        await server.drain(1)
        assembled.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert up.wait(30)
    try:
        yield started[0]
    finally:
        over.set()
        thread.join()
