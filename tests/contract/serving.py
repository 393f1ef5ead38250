"""A toy behind real servers: grpc.aio on a loopback port, and HTTP in the process or on a socket."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import grpc
import httpx
import msgspec
import uvicorn
from prometheus_client import CollectorRegistry
from starlette.applications import Starlette

from services.access.caller import charging
from services.access.factory import Access, open_access
from services.access.rules import SERVICE_ROUTES, HttpRules
from services.access.watched_files import follow
from services.app.assembly import durable, store_of
from services.contract_tests.service import detail
from services.labels.factory import build_labels
from services.ledger.contract import NoLedger
from services.ledger.ledger import DurableLedger
from services.policy.decision import PolicyBook, choose
from services.request.metrics import Metrics
from services.request.pipeline import Pipeline
from services.request.schedule import Limits, Scheduler
from services.runtime.lifecycle import Lifecycle
from services.runtime.offload import Offload
from services.runtime.settings import Settings
from services.tracing.tracer import OFF, Tracer
from services.transport.grpc.server import GrpcServer
from services.transport.http.app import application, small_calls
from services.transport.http.call import AccessGuard
from services.transport.http.connections import harden
from services.transport.http.load_shedding import LoadShedder
from services.transport.http.small_calls import SmallCalls
from services.transport.oip.model import OipModel
from services.transport.served_model import Parts, ServedModel
from services.transport.serving import Serving
from tests.contract.toys.toy import Body, Probe, Toy

Protocol = Literal["http", "grpc"]
PROTOCOLS: tuple[Protocol, ...] = ("http", "grpc")
EPOCH = 0xABC
MODEL = "toy:1"
PROFILE = "toy"
"""Numeric profile of every toy."""


@dataclass(frozen=True)
class Outcome:
    """What a caller saw: an answer, or an error with the same fields on both protocols."""

    code: str
    answer: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)

    @property
    def decisions(self) -> dict[str, list[str]]:
        """Head to the decisions of its items."""
        by_head: dict[str, list[str]] = {}
        for item in self.answer["items"]:
            for head, decided in item["heads"].items():
                by_head.setdefault(head, []).append(decided["decision"])
        return by_head

    @property
    def ids(self) -> list[str]:
        return [decided["id"] for item in self.answer["items"] for decided in item["heads"].values()]

    @property
    def timeless(self) -> dict[str, Any]:
        """The answer without what differs from call to call, ids and the order of finishing, or between protocols: its
        files, which gRPC has in messages of its own."""
        items = [
            item | {"heads": {name: head | {"id": ""} for name, head in item["heads"].items()}}
            for item in self.answer["items"]
        ]
        kept = {name: value for name, value in self.answer.items() if name != "files"}
        return kept | {"items": items, "finished": []}


@dataclass
class Served:
    """A running toy."""

    toy: Toy
    probe: Probe
    tenant: ServedModel
    scheduler: Scheduler
    settings: Settings
    metrics: Metrics
    lifecycle: Lifecycle
    server: GrpcServer
    channel: grpc.aio.Channel
    http: httpx.AsyncClient
    access: Access
    app: Starlette
    """The routes, behind the guard that ``http`` passes."""
    small_calls: SmallCalls | None
    """Straight way of small calls behind a shedder."""

    def method(self, name: str = "Predict") -> Any:
        """A unary method: JSON values in and out."""
        path = f"/{self.tenant.grpc.service}/{name}"
        return self.channel.unary_unary(
            path, request_serializer=msgspec.json.encode, response_deserializer=msgspec.json.decode
        )

    def stream(self, frames: AsyncIterable[Any] | Iterable[Any] | None = None, **options: Any) -> Any:
        """A stream of JSON values both ways; without frames they are written to it one by one."""
        return self.channel.stream_stream(
            f"/{self.tenant.grpc.service}/PredictStream",
            request_serializer=msgspec.json.encode,
            response_deserializer=msgspec.json.decode,
        )(frames, **options)

    async def ask(self, protocol: Protocol, body: Body, timeout: float | None = None) -> Outcome:
        """One question over a protocol."""
        if protocol == "http":
            headers = {} if timeout is None else {"demur-timeout-seconds": str(timeout)}
            return seen(await self.http.post("/v1/predict", json=body, headers=headers))
        try:
            return Outcome("OK", await self.method()(body, timeout=timeout))
        except grpc.aio.AioRpcError as error:
            return Outcome(error.code().name, error=detail(error))

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Waits until something has come to pass."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"it never came to pass; {condition}"
            await asyncio.sleep(0.001)

    async def job(self, body: Body) -> str:
        """The path of a new job."""
        response = await self.http.post("/v1/jobs", json=body)
        assert response.status_code == 202, response.text
        return response.headers["location"]

    async def ended(self, location: str) -> dict[str, Any]:
        """A job's last view."""
        while (view := (await self.http.get(location)).json())["state"] == "running":
            await asyncio.sleep(0.005)
        return view

    @asynccontextmanager
    async def on_socket(self, shedder: LoadShedder | None = None) -> AsyncIterator[httpx.AsyncClient]:
        """A client of the same application behind uvicorn on a loopback port, and behind a shedder."""
        async with self.listening(shedder) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            yield client

    @asynccontextmanager
    async def listening(self, shedder: LoadShedder | None = None) -> AsyncIterator[int]:
        """The loopback port of the same application behind uvicorn, as a process serves it."""
        if shedder is not None:
            shedder.small_calls = self.small_calls
        app = self.http._transport.app  # type: ignore[attr-defined]
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False)
        config.load()
        harden(config, self.settings, self.access.certificates, shedder)
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        await self.until(lambda: server.started)
        try:
            yield int(listener.getsockname()[1])
        finally:
            server.should_exit = True
            await running
            listener.close()


def seen(response: httpx.Response) -> Outcome:
    """An HTTP response as an outcome."""
    content = response.json()
    if response.status_code == 200:
        return Outcome("OK", content)
    error = content["error"]
    if "retry-after" in response.headers:
        assert int(response.headers["retry-after"]) >= 1
        assert error["retry_after_seconds"] > 0
    return Outcome(str(response.status_code), error=error)


@asynccontextmanager
async def serving(
    toy: Toy,
    *,
    lanes: int = 1,
    calibrated: bool = True,
    limits: Limits | None = None,
    recorded: bool = False,
    tracer: Tracer = OFF,
    **settings: Any,
) -> AsyncIterator[Served]:
    """Serves a toy; lanes are few so that the order of quanta is known. ``recorded``: in the ledger of the settings.

    Without an ``audit_rate`` in the settings, no answered unit is audited: requests for labels are then known exactly.
    """
    patient = 1000  # calls may wait: machines that test stand still now and then
    chosen = replace(
        Settings(task=toy.name, max_jobs=4, drain_seconds=10.0, waiting_calls=patient, audit_rate=0.0), **settings
    )
    probe, lifecycle = Probe(), Lifecycle()
    metrics = Metrics(toy.name, CollectorRegistry())
    scheduler = Scheduler(limits or Limits(lanes=lanes), time.monotonic, metrics.quantum)
    metrics.watch(scheduler)
    offload = Offload()
    kept: list[DurableLedger] = []
    calibrations = dict(toy.calibrations) if calibrated else dict.fromkeys(toy.calibrations)

    def pipeline(task: Any) -> Pipeline[Any, Any]:
        policies = {
            head.name: choose(
                head,
                calibrations[head.name],
                model=MODEL,
                profile=PROFILE,
                ensemble=toy.name != "volume",
                target_retention=chosen.target_retention,
                defer_on_shift=chosen.defer_on_shift,
                withhold=chosen.withhold,
                audit_rate=chosen.audit_rate,
            )
            for head in task.heads
        }
        if recorded:
            assert chosen.ledger_url is not None
            kept.append(durable(chosen.ledger_url, EPOCH, task, (), chosen, metrics))
        return Pipeline(
            task,
            scheduler,
            PolicyBook(policies),
            model=MODEL,
            profile=PROFILE,
            ledger=kept[0] if kept else NoLedger(),
            observer=metrics,
            offload=offload,
            epoch=lambda: EPOCH,
            charging=charging,
        )

    tenant = toy.build(Parts(pipeline, calibrations, golden_tolerance=0.0), probe)
    labels = None
    if kept:
        await kept[0].start()
        store = store_of(chosen)
        labels = build_labels(
            kept[0].current,
            kept[0].clock,
            store,
            tenant.description.heads,
            tenant.description.schema,
            chosen,
            offload,
        )
        labels.periodic_jobs.start()
    label_service = None if labels is None else labels.label_service
    access = open_access(chosen, toy.name, metrics.registry)
    following = asyncio.create_task(follow(access.watched, 0.05))
    serving = Serving(tenant, chosen, metrics, label_service, tracer=tracer)
    server = GrpcServer(serving, access=access)
    await server.start("127.0.0.1:0")
    lifecycle.reason = ""
    await server.ready()
    app = application(serving, lifecycle)
    oip = OipModel(tenant, metrics, lambda: True)
    straight = small_calls(serving, lifecycle, access.authenticator, oip_model=oip)
    guarded = AccessGuard(app, HttpRules(SERVICE_ROUTES), access.authenticator, metrics.request)
    transport = httpx.ASGITransport(guarded, raise_app_exceptions=True)
    try:
        async with (
            grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
            httpx.AsyncClient(transport=transport, base_url="http://toy") as http,
        ):
            yield Served(
                *(toy, probe, tenant, scheduler, chosen, metrics, lifecycle, server, channel, http, access, app),
                small_calls=straight,
            )
    finally:
        probe.release()
        following.cancel()
        await server.drain(0)
        if labels is not None:
            await labels.periodic_jobs.stop()
            await kept[0].stop()
        scheduler.close()
        offload.close()


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Server-sent events as (name, data)."""
    parsed = []
    for block in filter(None, text.split("\n\n")):
        name, data = block.split("\n", 1)
        parsed.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return parsed
