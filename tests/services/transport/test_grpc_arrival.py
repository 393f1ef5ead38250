"""Callers that speak HTTP/2 by hand: metadata without end, calls without message, connections without number."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from demur.v1 import common_pb2
from services.transport.grpc.limits import Limits
from tests.contract.serving import Served, serving
from tests.contract.toys import TOYS

pytest.importorskip("h2", reason="h2 is not installed: pip install -e .[test]")
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, Event, ResponseReceived, StreamEnded, TrailersReceived

TOY = TOYS[0]
SECONDS = 60.0
"""Until a test gives up."""


@dataclass
class Caller:
    """A connection to a gRPC port, by hand."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    protocol: H2Connection = field(default_factory=H2Connection)
    events: list[Event] = field(default_factory=list)
    ended: bool = False

    async def begin(self) -> None:
        self.protocol.initiate_connection()
        await self.flush()

    async def flush(self) -> None:
        self.writer.write(self.protocol.data_to_send())
        await self.writer.drain()

    async def open(self, method: str, *metadata: tuple[str, str], end_stream: bool = False) -> int:
        """Send the metadata of a call; its settings are acknowledged only by ``read``."""
        stream: int = self.protocol.get_next_available_stream_id()
        head = [(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "x"), ("te", "trailers")]
        head += [("content-type", "application/grpc"), *metadata]
        self.protocol.send_headers(stream, head, end_stream=end_stream)
        await self.flush()
        return stream

    async def read(self) -> bool:
        """Take what comes next, and answer as HTTP/2 has it; False: the connection has ended."""
        try:
            data = await self.reader.read(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self.ended = True
            return False
        self.events += self.protocol.receive_data(data)
        await self.flush()
        return True

    async def status(self, stream: int) -> tuple[str, Any]:
        """Status and detail with which a call ended; the connection is still there. A refusal of the library has no
        detail: its code is empty and its message that of the status.
        """
        async with asyncio.timeout(SECONDS):
            while not any(
                isinstance(h2_event, StreamEnded) and h2_event.stream_id == stream for h2_event in self.events
            ):
                assert await self.read(), "the connection ended"
        headers: dict[str, str] = {}
        for event in self.events:
            if isinstance(event, ResponseReceived | TrailersReceived) and event.stream_id == stream:
                headers |= {_text(name): _text(value) for name, value in event.headers}
        if (content := headers.get("demur-error-bin")) is None:
            return headers["grpc-status"], common_pb2.ErrorDetail(message=headers.get("grpc-message", ""))
        return headers["grpc-status"], common_pb2.ErrorDetail.FromString(base64.b64decode(content + "=="))

    async def until_ended(self) -> None:
        async with asyncio.timeout(SECONDS):
            while await self.read():
                if any(isinstance(event, ConnectionTerminated) for event in self.events):
                    return


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


@asynccontextmanager
async def calling(served: Served) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port)
    caller = Caller(reader, writer)
    try:
        await caller.begin()
        yield caller
    finally:
        writer.transport.abort()


def predict(served: Served) -> str:
    return f"/{served.tenant.grpc.service}/Predict"


async def test_large_metadata_at_the_start_of_a_connection_are_refused() -> None:
    """Until the library has its own bound, which on a busy machine is sometimes before the first call, it takes 16 MiB:
    either the layer or the library refuses the call.
    """
    large = [(f"x-{index}", "v" * 8000) for index in range(25)]
    async with serving(TOY) as served:
        for method in (predict(served), "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"):
            async with calling(served) as caller:
                status, error = await caller.status(await caller.open(method, *large))
            assert status == "8", "RESOURCE_EXHAUSTED"
            if error.code:
                assert (error.code, error.field, error.unit) == ("header_too_large", "metadata", "bytes")
                assert int(error.value) > 200_000
            else:
                assert error.message.startswith("received metadata size exceeds")
        answer = await served.method()(TOY.good, metadata=[("x-small", "v" * 8000)])
        assert answer["items"]


def test_metadata_are_measured_with_the_overhead_of_their_entries() -> None:
    limits = Limits(message_seconds=1.0, metadata_bytes=16_384, message_bytes=1 << 20)
    assert limits.excess([("x-1", "v" * 8000), ("x-2", "v" * (16_384 - 8000 - 6 - 64))]) is None
    error = limits.excess([("x-1", "v" * 8000), ("x-2", "v" * (16_384 - 8000 - 6 - 64 + 1))])
    assert error is not None
    assert (error.code, error.field, error.value, error.unit) == ("header_too_large", "metadata", "16385", "bytes")


async def test_who_never_acknowledges_settings_is_let_go() -> None:
    async with serving(TOY, slow_seconds=0.5) as served, calling(served) as caller:
        async with asyncio.timeout(SECONDS):
            while await caller.reader.read(1 << 16):  # and says nothing
                pass


@pytest.mark.parametrize(
    "method",
    [
        "",
        "/demur.v1.LabelService/Submit",
        "/demur.v1.LabelService/WatchResolutions",
        "/demur.v1.PolicyService/Show",
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
        "/inference.GRPCInferenceService/ServerLive",
        "/inference.GRPCInferenceService/ModelInfer",
    ],
)
async def test_a_call_without_its_message_ends(method: str) -> None:
    async with serving(TOY, message_seconds=0.3) as served, calling(served) as caller:
        name = method or predict(served)
        silent = [await caller.open(name) for _ in range(3)]
        ended = await caller.open(name, end_stream=True)
        for stream in silent:
            status, error = await caller.status(stream)
            assert (status, error.code) == ("4", "deadline_exceeded")
            assert "DEMUR_MESSAGE_SECONDS" in error.message
        status, error = await caller.status(ended)
        assert (status, error.code) == ("3", "not_a_message")
        assert (await served.method()(TOY.good))["items"], "and others are answered"


async def test_calls_and_streams_that_take_longer_are_not_cut() -> None:
    async with serving(TOY, message_seconds=0.2) as served:
        served.probe.hold()
        call = asyncio.ensure_future(served.method()(TOY.good))
        stream = served.stream()
        await asyncio.sleep(1.5)
        assert not call.done()
        assert not stream.done()
        served.probe.release()
        assert (await call)["items"]
        stream.cancel()


async def test_a_caller_who_goes_away_before_its_message_is_no_failure() -> None:
    async with serving(TOY) as served, calling(served) as caller:
        stream = await caller.open(predict(served))
        await caller.read()
        caller.protocol.reset_stream(stream)
        await caller.flush()
        again = await caller.open(predict(served), end_stream=True)
        assert (await caller.status(again))[0] == "3"


async def test_connections_of_grpc_are_bounded() -> None:
    async with (
        serving(TOY, max_connections=3) as served,
        calling(served) as first,
        calling(served) as second,
        calling(served) as third,
    ):
        for caller in (first, second, third):
            assert (await caller.status(await caller.open(predict(served), end_stream=True)))[0] == "3"
        async with calling(served) as fourth:
            await fourth.until_ended()
        assert fourth.ended
