"""Whatever callers send to any task, and wherever it goes wrong: nothing of it is in the logs, nor in the traces."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from prometheus_client import CollectorRegistry

from models.artefact import read
from services.app.assembly import assemble
from services.request.contract import Step, Units
from services.request.metrics import Metrics
from services.runtime.lifecycle import Lifecycle
from services.runtime.logging import JsonLines
from services.runtime.settings import TASKS, Settings
from services.tasks import DEFAULT_MODELS
from services.transport.binding import Options
from services.transport.grpc.server import GrpcServer
from services.transport.http.app import application
from services.transport.served_model import ServedModel
from services.transport.serving import Serving
from tests.services.tracing.kept import PARENT, Kept

PROJECT = Path(__file__).resolve().parents[3]
SECRET, NUMBER = "sentinel7319", "73199937.25"
_FORM = (
    f'--b\r\ncontent-disposition: form-data; name="flair"; filename="{SECRET}.nii"\r\n\r\n{SECRET}\r\n'
    f'--b\r\ncontent-disposition: form-data; name="{SECRET}"\r\n\r\n{SECRET}\r\n--b--\r\n'
).encode()
_SMALL = {"weather": "catboost-1", "vessel": "dnn-1"}
"""Artefacts that are loaded sooner than those that are served."""
BODIES: tuple[tuple[str, bytes], ...] = (
    ("application/json", f'"{SECRET}"'.encode()),
    ("application/json", f'{{"{SECRET}": "{SECRET}", '.encode()),
    ("application/json", f'{{"rows": [{{"{SECRET}": {NUMBER}}}]}}'.encode()),
    ("application/json", f'{{"columns": {{"{SECRET}": ["{SECRET}"]}}, "purpose": "{SECRET}"}}'.encode()),
    ("application/json", f'{{"text": "{SECRET} " , "defer_above": {{"{SECRET}": 1}}}}'.encode()),
    ("application/json", f'{{"sentences": ["{SECRET}"], "scene": "{SECRET}", "flair": "{SECRET}"}}'.encode()),
    ("application/protobuf", SECRET.encode() * 3),
    ("application/protobuf", b"\x0a\x0c" + SECRET.encode()),
    ("multipart/form-data; boundary=b", _FORM),
    (f"text/{SECRET}", SECRET.encode()),
)


class Lines(logging.Handler):
    """Keeps lines as they would be written."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(JsonLines())
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@pytest.fixture
def lines() -> Iterator[Lines]:
    """At the levels of a process with DEMUR_LOG_LEVEL=DEBUG."""
    handler, root, own = Lines(), logging.getLogger(), logging.getLogger("services")
    before = root.level, own.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    own.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before[0])
    own.setLevel(before[1])


@asynccontextmanager
async def served(task: str, home: Path, kept: Kept) -> AsyncIterator[tuple[ServedModel, httpx.AsyncClient, Any]]:
    """A reference artefact, cold; its JSON bodies are taken as they are where they begin with ``poison``."""
    settings = Settings.read({"DEMUR_HOME": str(home), "DEMUR_LANES": "1"}, task=task)
    metrics = Metrics(task, CollectorRegistry())
    name = _SMALL.get(task) or DEFAULT_MODELS[task].removeprefix(f"{task}-")
    artefact = read(PROJECT / "artefacts" / task / name, task)
    assembled = assemble(artefact, settings, metrics)
    await assembled.start()
    original = assembled.tenant
    own = original.http.read_json

    def reading(body: bytes) -> Any:
        return (body, Options()) if body.startswith(b"poison") else own(body)

    tenant = replace(original, http=replace(original.http, read_json=reading))
    serving = Serving(tenant, settings, metrics, assembled.label_service, assembled.keeper, kept.recorder())
    server = GrpcServer(serving)
    await server.start("127.0.0.1:0")
    app = application(serving, _ready())
    try:
        async with (
            grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel,
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a") as http,
        ):
            yield tenant, http, channel
    finally:
        await server.drain(0)
        await assembled.stop()
        assembled.close()


def _ready() -> Lifecycle:
    lifecycle = Lifecycle()
    lifecycle.reason = ""
    return lifecycle


@pytest.mark.parametrize("task", TASKS)
async def test_nothing_that_was_sent_is_told(task: str, tmp_path: Path, lines: Lines) -> None:
    kept = Kept()
    async with served(task, tmp_path, kept) as (tenant, http, channel):
        codes = await refused(tenant, http, channel)
        assert {"404", "415", "422", "INVALID_ARGUMENT"} <= codes
        assert not codes & {"500", "INTERNAL", "UNKNOWN"}
        before = len(lines.texts)
        assert [code async for code in failing(tenant, http)] == [500, 500, 500, 500]
    own = [text for text in lines.texts[before:] if '"exception"' in text]
    assert len(own) == 4, own
    for text in lines.texts:
        assert json.loads(text)["event"]
        for secret in (SECRET, NUMBER, NUMBER.partition(".")[0]):
            assert secret not in text
            assert secret not in repr(kept.bundles)
    assert len(kept.bundles) > 30


async def refused(tenant: ServedModel, http: httpx.AsyncClient, channel: Any) -> set[str]:
    """Sends what no task takes, everywhere; the codes that came back."""
    codes: set[str] = set()
    for kind, body in BODIES:
        for path in ("/v1/predict", "/v1/jobs", "/v1/labels", "/v1/commit", f"/v1/{SECRET}"):
            headers = {"content-type": kind, "traceparent": PARENT, "x-request-id": f"{SECRET} free text"}
            codes.add(str((await http.post(path, content=body, headers=headers)).status_code))
    wishes = ({"demur-timeout-seconds": SECRET}, {"content-encoding": SECRET}, {"accept": SECRET})
    for wish in wishes:
        answer = await http.post("/v1/predict", content=f'{{"{SECRET}": 1}}', headers=wish)
        codes.add(str(answer.status_code))
    for path in (f"/v1/jobs/{SECRET}", f"/v1/policy/{SECRET}"):
        codes.add(str((await http.get(path)).status_code))
    codes.add(str((await http.put(f"/v1/policy/{SECRET}", content=f'{{"author": "{SECRET}"}}')).status_code))
    for service, method in ((tenant.grpc.service, "Predict"), ("demur.v1.LabelService", "Submit")):
        for body in (SECRET.encode(), b"\x0a\x0c" + SECRET.encode(), b""):
            with suppress(grpc.aio.AioRpcError):
                try:
                    await channel.unary_unary(f"/{service}/{method}")(body)
                except grpc.aio.AioRpcError as error:
                    codes.add(error.code().name)
    stream = channel.stream_stream(f"/{tenant.grpc.service}/PredictStream")(iter([SECRET.encode(), b"\x0a\x00"]))
    with suppress(grpc.aio.AioRpcError):
        async for _ in stream:
            pass
    return codes


async def failing(tenant: ServedModel, http: httpx.AsyncClient) -> AsyncIterator[int]:
    """Has each station fail with what was sent in its words."""
    pipeline: Any = tenant.pipeline
    task, body = pipeline.task, f"poison {SECRET} {NUMBER}"

    def fail(*arguments: Any) -> Any:
        try:
            raise ValueError(f"{arguments} {body}")
        except ValueError as error:
            raise RuntimeError(f"{body} {error}") from error

    def work(units: Any) -> Any:
        yield Step(fail, 0.0001)

    def broken(units: Any) -> Any:
        fail(units)
        yield

    async def ask() -> int:
        answer = await http.post("/v1/predict", content=body, headers={"content-type": "application/json"})
        await asyncio.sleep(0)
        return answer.status_code

    task.expand = fail
    yield await ask()
    task.expand = lambda request: Units(request, 1, 0.001, 10)
    for run in (work, broken):
        task.run = run
        yield await ask()
    task.run = lambda units: iter(())
    pipeline._scheduler.submit = fail
    yield await ask()
