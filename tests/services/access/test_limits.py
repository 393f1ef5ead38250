"""Connections that ask too much or too slowly, on both protocols."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import msgspec
import pytest

from tests.contract.serving import Served, serving
from tests.contract.toys import TOYS
from tests.services.access.passes import Passes

TOY = TOYS[0]
HEAD = b"GET /v1/schema HTTP/1.1\r\nhost: x\r\n"


@asynccontextmanager
async def listening(**settings: object) -> AsyncIterator[tuple[Served, int]]:
    chosen = {"slow_seconds": 0.3, "max_header_bytes": 4096} | settings
    async with serving(TOY, **chosen) as served, served.listening() as port:
        yield served, port


async def said(port: int, *parts: bytes, pause: float = 0.0, seconds: float = 60.0) -> bytes:
    """What the service says to these parts until it closes; the test fails where it does not."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(seconds):
            sending = asyncio.create_task(send(writer, parts, pause))
            try:
                return await reader.read(1 << 20)
            except ConnectionResetError:
                return b""
            finally:
                sending.cancel()
    finally:
        writer.transport.abort()


async def send(writer: asyncio.StreamWriter, parts: tuple[bytes, ...], pause: float) -> None:
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)
    except ConnectionError:
        pass


async def test_who_says_nothing_is_let_go() -> None:
    async with listening() as (_, port):
        assert await said(port) == b""


async def test_headers_that_trickle_are_cut_off() -> None:
    async with listening() as (_, port):
        trickle = [b"a: b\r\n"] * 10_000  # more than eight minutes: a byte now and then buys no time
        assert await said(port, HEAD, *trickle, pause=0.05) == b""


async def test_a_body_that_stops_is_cut_off_and_a_slow_one_is_not() -> None:
    body = msgspec.json.encode(TOY.good)
    head = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with listening() as (_, port):
        assert not (await said(port, head, body[:3])).startswith(b"HTTP/1.1 200")
        pieces = [body[start : start + len(body) // 6 + 1] for start in range(0, len(body), len(body) // 6 + 1)]
        assert (await said(port, head, *pieces, pause=0.1)).startswith(b"HTTP/1.1 200")


async def test_who_waits_for_our_word_is_not_late() -> None:
    """While the lane is taken nobody reads the body of a call that waits: its caller owes nothing."""
    body = msgspec.json.encode(TOY.good)
    async with listening() as (served, port):
        served.probe.hold()
        head = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        waiting = asyncio.create_task(said(port, head + body))
        await served.until(lambda: len(served.probe.executed) == 1)
        await asyncio.sleep(1.0)
        assert not waiting.done()
        served.probe.release()
        assert (await waiting).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "header",
    [
        b"a: " + b"x" * 5000,
        b"\r\n".join(b"a%d: b" % index for index in range(1000)),
        b"authorization: Bearer " + b"x" * 5000,
        b"a: " + b"x" * 3_000_000,
    ],
)
async def test_absurd_headers_are_refused_in_bounded_memory(header: bytes) -> None:
    async with listening() as (_, port):
        answer = await said(port, HEAD + header + b"\r\nconnection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 431") or answer == b""
        long = await said(port, b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert long.startswith(b"HTTP/1.1 431")
        fine = await said(port, HEAD + b"a: " + b"x" * 3000 + b"\r\nconnection: close\r\n\r\n")
        assert fine.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"GET /v1/schema HTTP/1.1\r\n\r\n", "host_needed"),
        (b"GET /v1/schema HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n", "host_needed"),
        (b"POST /v1/predict HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", "host_needed"),
        (b"GET /v1/schema HTTP/9.9\r\nhost: x\r\n\r\n", "not_http"),
        (b"GET /v1/schema HTTP/1.1\r\nhost x\r\n\r\n", "not_http"),
        (b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: two\r\n\r\n{}", "not_http"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "not_http"),
        (HEAD + b"a: " + b"x" * 5000 + b"\r\n\r\n", "header_too_large"),
    ],
)
async def test_what_is_no_request_is_refused_in_json(request_: bytes, code: str) -> None:
    async with listening() as (_, port):
        head, _, body = (await said(port, request_)).partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 400 Bad Request\r\n", b"HTTP/1.1 431 "))
        assert b"content-type: application/json" in head
        assert b"content-length: %d" % len(body) in head
        error = json.loads(body)["error"]
        assert error["code"] == code
        assert error["message"]


async def test_http_1_0_needs_no_host() -> None:
    async with listening() as (_, port):
        assert (await said(port, b"GET /v1/schema HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "upgrade", [b"websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: YQ==", b"h2c\r\nhttp2-settings: AAA"]
)
async def test_a_wish_for_another_protocol_is_answered_in_this_one(
    upgrade: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    asking = b"connection: upgrade\r\nupgrade: " + upgrade + b"\r\n"
    async with listening() as (_, port):
        answer = await said(port, HEAD + asking + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert b"\r\nconnection: close\r\n" in answer, "since the parser reads nothing behind such a request"
        body = msgspec.json.encode(TOY.good)
        head = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n" % len(body)
        lost = await said(port, head + asking + b"\r\n" + body)
        assert lost.startswith(b"HTTP/1.1 400 ")
        assert b"no_upgrade" in lost
        wrong = await said(port, HEAD.replace(b"schema", b"predict") + asking + b"\r\n")
        assert b"HTTP/1.1 405" in wrong
        assert b"method_not_allowed" in wrong
    assert "pip install" not in caplog.text
    assert "Unsupported upgrade" not in caplog.text


async def test_requests_of_one_connection_are_counted_by_themselves() -> None:
    async with listening() as (served, _), served.on_socket() as client:
        for _ in range(5):
            answer = await client.post("/v1/predict", json=TOY.good, headers={"a": "y" * 3000})
            assert answer.status_code == 200


async def test_an_answer_that_nobody_reads_ends() -> None:
    async with listening() as (served, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(3000):
            writer.write(b"GET /v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(40):
            while not writer.transport.is_closing():
                await asyncio.sleep(0.05)
                writer.write(b"GET /v1/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n")
        assert served.lifecycle.ready


async def test_connections_are_bounded() -> None:
    async with listening(max_connections=3, slow_seconds=30.0) as (_, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert await said(port, HEAD + b"\r\n") == b""
        for _, writer in held:
            writer.close()
        async with asyncio.timeout(60):  # until the service has seen that they are closed
            while not (await said(port, HEAD + b"connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200"):
                await asyncio.sleep(0.05)


async def test_compressed_messages_have_the_limit_of_others_and_compressed_bodies_are_refused() -> None:
    async with serving(TOY, max_message_bytes=1 << 20) as served:
        call = served.channel.unary_unary(f"/{served.tenant.grpc.service}/Predict")
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call(bytes(1 << 28), compression=grpc.Compression.Gzip, timeout=60)
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        answer = await served.http.post(
            "/v1/predict", content=gzip.compress(bytes(1 << 20)), headers={"content-encoding": "gzip"}
        )
        assert answer.status_code == 415


async def test_metadata_and_streams_of_one_connection_are_bounded() -> None:
    async with serving(TOY, max_header_bytes=4096, max_connection_calls=2) as served:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await served.method()(TOY.good, metadata=(("a", "x" * 5000),), timeout=60)
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        streams = [served.stream() for _ in range(2)]
        for stream in streams:
            await stream.read()
        third = served.stream()
        reading = asyncio.ensure_future(third.read())
        assert (await asyncio.wait([reading], timeout=0.5))[0] == set(), "it waits for its turn"
        streams[0].cancel()
        assert await reading is not grpc.aio.EOF
        for stream in (*streams, third):
            stream.cancel()


async def test_a_refused_caller_hears_why_even_while_it_sends(passes: Passes) -> None:
    body = b"x" * 900_000
    head = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with listening(tokens=str(passes.path)) as (_, port):
        assert (await said(port, head + body)).startswith(b"HTTP/1.1 401")
