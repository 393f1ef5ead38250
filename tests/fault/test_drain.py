"""SIGTERM under load: what was sent is answered, what comes later is refused at once, nothing is left behind."""

import asyncio
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import httpx
import numpy as np
import psutil
import pytest

import demur
from demur.v1.common_pb2 import PackedRows, Rows
from demur.v1.vessel_pb2 import VesselPredictRequest, VesselPredictResponse
from tests.ports import free_ports

PROJECT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
DRAIN_SECONDS = 600.0
"""More than a test may take: whatever waited for the end of this time would outlast it."""
MINUTE = 60.0
LONG_ROWS = 50_000
"""Rows of the calls that are still running when the signal comes."""


@dataclass(frozen=True)
class Service:
    """A running ``demur serve``."""

    process: subprocess.Popen[bytes]
    http: str
    grpc: str


@dataclass(frozen=True)
class Call:
    """One call and how it ended."""

    protocol: str
    begun: float
    sent: float
    """When its caller had really handed it over; infinite: it never got so far."""
    ended: float
    outcome: str
    """ok, refused, or what else happened."""


@dataclass
class Traffic:
    """What callers do: calls that ended, and how many of each protocol are sent and not yet answered."""

    calls: list[Call] = field(default_factory=list)
    in_flight: Counter[str] = field(default_factory=Counter)


Sent = Callable[[], None]
Ask = Callable[[Sent], Awaitable[str]]
"""Makes one call, says when it is sent, and returns its outcome."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    http, grpc_port = free_ports(2)
    settings = {
        "DEMUR_HOME": str(tmp_path / "home"),
        "DEMUR_HTTP_PORT": str(http),
        "DEMUR_GRPC_PORT": str(grpc_port),
        "DEMUR_DRAIN_SECONDS": str(DRAIN_SECONDS),
    }
    log = tmp_path / "serve.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.cli", "serve", "vessel"],
            env=os.environ | settings,
            cwd=PROJECT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    running = Service(process, f"http://{HOST}:{http}", f"{HOST}:{grpc_port}")
    try:
        end = time.monotonic() + 240
        while not _ready(running):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield running
    finally:
        process.kill()
        process.wait()


async def test_term_under_load(service: Service) -> None:
    traffic = Traffic()
    callers = [
        *(_http_caller(service, traffic, LONG_ROWS if index < 2 else 1) for index in range(8)),
        *(_grpc_caller(service, traffic, LONG_ROWS if index < 2 else 1) for index in range(8)),
    ]
    running = [asyncio.create_task(caller) for caller in callers]
    refused_all = asyncio.Event()
    stream = asyncio.create_task(_stream(service, refused_all))
    await asyncio.sleep(2)
    while not (traffic.in_flight["http"] and traffic.in_flight["grpc"]):
        await asyncio.sleep(0)
    moment = time.monotonic()
    service.process.send_signal(signal.SIGTERM)
    # The stream goes on until all others were refused, and the drain waits for it: nobody is held until its end.
    await asyncio.gather(*running)
    fresh = [await _fresh_http(service), await _fresh_grpc(service)]
    assert not stream.done(), "the drain is not over"
    refused_all.set()
    batches, answered = await stream
    code = await asyncio.to_thread(service.process.wait, MINUTE)

    calls = traffic.calls
    others = [call for call in (*calls, *fresh) if call.outcome not in ("ok", "refused")]
    assert not others
    before = [call for call in calls if call.sent < moment]
    assert {call.outcome for call in before} == {"ok"}, [call for call in before if call.outcome != "ok"]
    crossing = {call.protocol for call in before if call.ended > moment}
    assert crossing == {"http", "grpc"}
    refused = [call for call in (*calls, *fresh) if call.outcome == "refused"]
    assert len(refused) == len(callers) + len(fresh)
    assert answered == batches > 0
    assert code == 0


async def test_a_request_nobody_has_read_yet_is_answered(service: Service) -> None:
    """The connection may still wait in the kernel's queue when the signal comes."""
    worker = psutil.Process(service.process.pid)
    request = _http_request(service, _message(1))
    loop = asyncio.get_running_loop()
    worker.suspend()
    with closing(socket.create_connection((HOST, int(service.http.rpartition(":")[2])))) as connection:
        connection.sendall(request)
        service.process.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.5)
        worker.resume()
        connection.settimeout(MINUTE)
        answer = await loop.run_in_executor(None, connection.recv, 1 << 16)
    assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
    assert await asyncio.to_thread(service.process.wait, MINUTE) == 0


async def test_calls_the_server_has_not_got_round_to_are_answered(service: Service) -> None:
    """They lie in the sockets of a process that stands still while the signal comes."""
    worker = psutil.Process(service.process.pid)
    channels = [grpc.aio.insecure_channel(service.grpc, options=_OWN_CONNECTION) for _ in range(8)]
    for channel in channels:
        await _predict(channel, _message(1), 1, lambda: None)
    worker.suspend()
    sent = [asyncio.Event() for _ in channels]
    calls = [
        asyncio.create_task(_predict(channel, _message(1), 1, event.set))
        for channel, event in zip(channels, sent, strict=True)
    ]
    await asyncio.gather(*(event.wait() for event in sent))
    service.process.send_signal(signal.SIGTERM)
    await asyncio.sleep(1.0)
    worker.resume()
    assert await asyncio.gather(*calls) == ["ok"] * len(calls)
    for channel in channels:
        await channel.close()
    assert await asyncio.to_thread(service.process.wait, MINUTE) == 0


async def _http_caller(service: Service, traffic: Traffic, rows: int) -> None:
    body = _message(rows)
    async with httpx.AsyncClient(base_url=service.http, timeout=MINUTE) as client:
        await _until_refused(traffic, "http", lambda sent: _post(client, body, rows, sent))


async def _grpc_caller(service: Service, traffic: Traffic, rows: int) -> None:
    body = _message(rows)
    async with grpc.aio.insecure_channel(service.grpc, options=_OWN_CONNECTION) as channel:
        await _until_refused(traffic, "grpc", lambda sent: _predict(channel, body, rows, sent))


async def _until_refused(traffic: Traffic, protocol: str, ask: Ask) -> None:
    while not traffic.calls or traffic.calls[-1].outcome in ("ok", "refused"):
        call = await _timed(protocol, ask, traffic.in_flight)
        traffic.calls.append(call)
        if call.outcome == "refused":
            return


async def _timed(protocol: str, ask: Ask, in_flight: Counter[str] | None = None) -> Call:
    under_way = Counter() if in_flight is None else in_flight
    begun = time.monotonic()
    sent: list[float] = []

    def now() -> None:
        sent.append(time.monotonic())
        under_way[protocol] += 1

    outcome = await ask(now)
    under_way[protocol] -= len(sent)
    return Call(protocol, begun, sent[0] if sent else math.inf, time.monotonic(), outcome)


async def _fresh_http(service: Service) -> Call:
    async with httpx.AsyncClient(base_url=service.http, timeout=MINUTE) as client:
        return await _timed("http", lambda sent: _post(client, _message(1), 1, sent))


async def _fresh_grpc(service: Service) -> Call:
    async with grpc.aio.insecure_channel(service.grpc, options=_OWN_CONNECTION) as channel:
        return await _timed("grpc", lambda sent: _predict(channel, _message(1), 1, sent))


async def _post(client: httpx.AsyncClient, body: bytes, rows: int, sent: Sent) -> str:
    async def trace(event: str, details: object) -> None:
        if event == "http11.send_request_body.complete":
            sent()

    headers = {"content-type": "application/protobuf"}
    try:
        response = await client.post("/v1/predict", content=body, headers=headers, extensions={"trace": trace})
    except (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
        return "refused"
    if response.status_code == 200:
        return _complete(response.content, rows)
    return "refused" if response.status_code == 503 else f"HTTP {response.status_code}: {response.text[:200]}"


async def _predict(channel: grpc.aio.Channel, body: bytes, rows: int, sent: Sent) -> str:
    """Call with a stream of one message, because only of streams gRPC tells when a message has been sent."""
    gone = False

    async def message() -> AsyncIterator[bytes]:
        nonlocal gone
        yield body
        gone = True
        sent()

    predict: Any = channel.stream_unary("/demur.v1.VesselService/Predict")
    try:
        answer: bytes = await predict(message(), timeout=MINUTE)
    except grpc.aio.AioRpcError as error:
        # The library cancels a call that reaches a connection as it closes, and reports INTERNAL where the refusal
        # arrives before the message is sent. Both are refusals (the SDK asks another replica after the first, and sends
        # no single message as a stream); a call that was sent before the signal must still be answered.
        turned_away = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        by_library = (error.details() or "").startswith("Internal error from Core")
        overtaken = error.code() is grpc.StatusCode.INTERNAL and by_library and not gone
        return "refused" if turned_away or overtaken else f"{error.code()}: {error.details()}"
    return _complete(answer, rows)


async def _stream(service: Service, end: asyncio.Event) -> tuple[int, int]:
    """Batches sent and answered by a stream."""
    sent = 0

    async def batches() -> AsyncIterator[np.ndarray]:
        nonlocal sent
        while not end.is_set():
            sent += 1
            yield _rows(512)
            await asyncio.sleep(0.02)

    async with demur.aconnect(service.grpc) as client:
        answered = 0
        async for answer in client.vessel.stream(batches()):
            assert len(answer) == 512
            answered += 1
    return sent, answered


_OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)


def _rows(count: int) -> np.ndarray:
    row = np.load(PROJECT / "artefacts" / "vessel" / "dnn-10" / "golden.npz")["rows"][:1]
    return np.ascontiguousarray(np.repeat(row, count, axis=0), np.float32)


def _message(rows: int) -> bytes:
    packed = PackedRows(row_count=rows, values=_rows(rows).tobytes())
    return VesselPredictRequest(rows=Rows(packed=packed)).SerializeToString()


def _complete(answer: bytes, rows: int) -> str:
    decided = len(VesselPredictResponse.FromString(answer).power.deferral.decisions)
    return "ok" if decided == rows else f"{decided} of {rows} rows answered"


def _http_request(service: Service, body: bytes) -> bytes:
    head = (
        f"POST /v1/predict HTTP/1.1\r\nhost: {service.http.rpartition('/')[2]}\r\n"
        f"content-type: application/protobuf\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _ready(service: Service) -> bool:
    try:
        return httpx.get(f"{service.http}/readyz", timeout=1).status_code == 200
    except httpx.HTTPError:
        return False
