"""The door of HTTP on real sockets: what is refused, what passes, and that a connection goes on after either."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn

from services.request.admission import BURST, Crowd, ticket
from services.transport.http.load_shedding import HELD_BYTES, LoadShedder, shedding_protocol
from tests.services.transport.connections import Connection

MOST = 2
FULL = MOST * BURST


@dataclass
class Behind:
    """The application behind the shedder: it says how large the body was, once it may."""

    shedder: LoadShedder
    port: int = 0
    bodies: list[bytes] = field(default_factory=list)
    early: bool = False
    """Whether places are given back before the answer."""
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.bodies.append(body)
        held = ticket.get()
        if self.early and held is not None:
            held.give_back()
        await self.go.wait()
        text = f"{scope['path']} {len(body)}".encode()
        start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(text))]}
        await send(start)
        await send({"type": "http.response.body", "body": text})

    def fill(self) -> None:
        """Nobody else gets in."""
        while self.shedder.crowd.enter():
            pass

    def empty(self) -> None:
        while self.shedder.crowd.inside:
            self.shedder.crowd.leave()

    async def until(self, count: int) -> None:
        """So many requests have reached the application."""
        async with asyncio.timeout(40):
            while len(self.bodies) < count:
                await asyncio.sleep(0.001)


@asynccontextmanager
async def behind() -> AsyncIterator[Behind]:
    app = Behind(LoadShedder(Crowd(MOST, time.monotonic)))
    app.go.set()
    listener = socket.create_server(("127.0.0.1", 0))
    protocol = shedding_protocol(app.shedder)
    config = uvicorn.Config(app, http=protocol, lifespan="off", ws="none", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.001)
    app.port = listener.getsockname()[1]
    try:
        yield app
    finally:
        app.go.set()
        server.should_exit = True
        await running
        listener.close()


@dataclass
class Caller:
    """Connection whose answers are taken apart."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        head, _, body = (await Connection(self.reader, self.writer).answer()).partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return int(status.split()[1]), headers, body

    async def ask(self, *parts: bytes) -> tuple[int, dict[str, str], bytes]:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0.01 if len(parts) > 1 else 0)
        return await self.answer()


@asynccontextmanager
async def calling(app: Behind) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", app.port)
    try:
        yield Caller(reader, writer)
    finally:
        writer.close()


def post(body: bytes = b"rows", path: str = "/v1/predict", extra: str = "", version: str = "1.1") -> bytes:
    head = f"POST {path} HTTP/{version}\r\nHost: x\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


async def test_a_full_house_refuses_in_words_and_keeps_the_connection() -> None:
    async with behind() as app, calling(app) as caller:
        app.fill()
        for path in ("/v1/predict", "/v2/models/vessel/infer", "/v1/predict?x=1"):
            status, headers, content = await caller.ask(post(path=path))
            body = json.loads(content)
            error = body["detail"] if path.startswith("/v2") else body["error"]
            assert (status, headers["retry-after"], error["code"]) == (429, "1", "queue_full")
            assert headers["content-type"] == "application/json"
            assert error["retry_after_seconds"] > 0
        assert (app.bodies, app.shedder.refused) == ([], 3)
        app.empty()
        assert (await caller.ask(post(b"12345")))[::2] == (200, b"/v1/predict 5")


async def test_a_refused_caller_in_pieces_is_refused_once_and_goes_on() -> None:
    async with behind() as app, calling(app) as caller:
        app.fill()
        whole = post(b"0123456789")
        assert (await caller.ask(whole[:30], whole[30:-6], whole[-6:]))[0] == 429
        app.empty()
        assert (await caller.ask(whole[:30], whole[30:-6], whole[-6:-2], whole[-2:]))[2] == b"/v1/predict 10"
        assert app.bodies == [b"0123456789"]


@pytest.mark.parametrize("request_", [post(extra="Connection: close\r\n"), post(version="1.0")])
async def test_who_does_not_keep_the_connection_is_told_and_let_go(request_: bytes) -> None:
    async with behind() as app, calling(app) as caller:
        app.fill()
        status, headers, _ = await caller.ask(request_)
        assert (status, headers["connection"]) == (429, "close")
        assert await caller.reader.read() == b""


@pytest.mark.parametrize(
    "request_",
    [
        post(path="/v1/labels"),
        post(path="/v1/jobs"),
        b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        post(b"x" * (HELD_BYTES + 1)),
        post(extra="Expect: 100-continue\r\n")[:-4],
        b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nrows\r\n0\r\n\r\n",
    ],
    ids=["labels", "jobs", "metrics", "GET", "large", "expect", "chunked"],
)
async def test_what_is_no_small_call_for_a_prediction_passes(request_: bytes) -> None:
    async with behind() as app, calling(app) as caller:
        app.fill()
        caller.writer.write(request_)
        if b"Expect" in request_:
            assert b" 100 " in await caller.reader.readuntil(b"\r\n\r\n")
            caller.writer.write(b"rows")
        assert (await caller.answer())[0] == 200
        assert app.shedder.crowd.inside == FULL, "and is not counted"


async def test_calls_are_inside_until_they_are_answered() -> None:
    async with behind() as app:
        app.go.clear()
        async with calling(app) as first, calling(app) as second, calling(app) as third:
            for number, caller in enumerate((first, second, third), 1):
                caller.writer.write(post())
                await app.until(number)
                assert app.shedder.crowd.inside == number
            app.go.set()
            assert [(await caller.answer())[0] for caller in (first, second, third)] == [200, 200, 200]
            assert app.shedder.crowd.inside == 0


async def test_a_call_whose_work_is_done_elsewhere_makes_room() -> None:
    async with behind() as app, calling(app) as caller:
        app.go.clear()
        app.early = True
        caller.writer.write(post())
        await app.until(1)
        assert app.shedder.crowd.inside == 0
        app.go.set()
        assert (await caller.answer())[0] == 200
        assert app.shedder.crowd.inside == 0, "given back once"


async def test_a_caller_who_goes_away_leaves_no_place_taken() -> None:
    async with behind() as app:
        app.go.clear()
        async with calling(app) as caller:
            caller.writer.write(post())
            await app.until(1)
        async with calling(app) as caller:
            caller.writer.write(post()[:-1])  # held, and never complete
            await asyncio.sleep(0.02)
        app.go.set()
        async with asyncio.timeout(40):
            while app.shedder.crowd.inside:
                await asyncio.sleep(0.001)


async def test_a_stalled_body_is_the_applications_to_wait_for() -> None:
    """It has a deadline; and who sends slowly takes nobody's place."""
    async with behind() as app, calling(app) as caller:
        app.fill()
        caller.writer.write(post(b"0123456789")[:-4])
        await asyncio.sleep(0.3)
        caller.writer.write(b"6789")
        assert (await caller.answer())[2] == b"/v1/predict 10"
        assert app.shedder.crowd.inside == FULL


async def test_requests_of_one_connection_are_answered_in_their_order() -> None:
    async with behind() as app, calling(app) as caller:
        caller.writer.write(post(b"1") + post(b"22") + post(b"333"))
        assert [(await caller.answer())[2][-1:] for _ in range(3)] == [b"1", b"2", b"3"]
        assert app.bodies == [b"1", b"22", b"333"]
        app.fill()
        caller.writer.write(post(b"1") + post(b"22", path="/v1/labels") + post(b"333"))
        assert [(await caller.answer())[0] for _ in range(3)] == [429, 200, 200]
