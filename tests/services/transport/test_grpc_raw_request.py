"""Requests compressed with gzip: taken within the limit of a message, bounded in memory, refused in words otherwise."""

import asyncio
import gzip
import sys
import zlib
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2

from demur.v1 import common_pb2, vessel_pb2
from services.runtime.errors import DemurError
from services.transport.grpc.raw_request import decompress
from tests.contract.serving import detail as seen
from tests.contract.serving import serving
from tests.services.tabular import TABULAR

LIMIT = 1 << 20
PREDICT = "/demur.v1.VesselService/Predict"
BOMB_BYTES = 256 << 20
SENDER = f"""
import sys
import grpc
channel = grpc.insecure_channel(sys.argv[1], [("grpc.max_send_message_length", -1)])
try:
    channel.unary_unary({PREDICT!r})(bytes({BOMB_BYTES}), compression=grpc.Compression.Gzip, timeout=120)
except grpc.RpcError as error:
    detail = dict(error.trailing_metadata() or ()).get("demur-error-bin", b"")
    print(error.code().name, detail.hex())
"""
"""Sends a message that is small on the wire only; a process of its own, since it holds the whole."""


def message(rows: int) -> Any:
    values = np.tile(np.array([2, 0.5], "<f4"), (rows, 1))
    packed = common_pb2.PackedRows(row_count=rows, values=values.tobytes())
    return vessel_pb2.VesselPredictRequest(rows=common_pb2.Rows(packed=packed))


@pytest.mark.parametrize("rows", [1, 1000])
async def test_a_compressed_request_is_answered_as_any_other(rows: int) -> None:
    async with serving(TABULAR) as served:
        call = served.channel.unary_unary(
            PREDICT,
            request_serializer=vessel_pb2.VesselPredictRequest.SerializeToString,
            response_deserializer=vessel_pb2.VesselPredictResponse.FromString,
        )
        plain = await call(message(rows))
        compressed = await call(message(rows), compression=grpc.Compression.Gzip)
    assert len(compressed.power.mean) == 4 * rows
    assert compressed.power.mean == plain.power.mean


async def test_compressed_frames_of_a_stream_are_read() -> None:
    frames = [
        vessel_pb2.VesselStreamRequest(chunk=vessel_pb2.VesselChunk(sequence=place, rows=message(500).rows))
        for place in range(3)
    ]
    async with serving(TABULAR) as served:
        call = served.channel.stream_stream(
            "/demur.v1.VesselService/PredictStream",
            request_serializer=vessel_pb2.VesselStreamRequest.SerializeToString,
            response_deserializer=vessel_pb2.VesselStreamResponse.FromString,
        )
        answers = [frame async for frame in call(iter(frames), compression=grpc.Compression.Gzip)]
    assert [frame.result.sequence for frame in answers if frame.HasField("result")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("method", "content"),
    [
        ("inference.GRPCInferenceService/ServerLive", b""),
        ("grpc.health.v1.Health/Check", health_pb2.HealthCheckRequest(service="").SerializeToString()),
        ("demur.v1.PolicyService/Show", b""),
    ],
)
async def test_other_services_take_compressed_messages_too(method: str, content: bytes) -> None:
    """Some clients compress whatever they send; this one would not, where it gains nothing."""
    async with serving(TABULAR) as served:
        assert await served.channel.unary_unary(f"/{method}")(gzip.compress(content), timeout=60)


async def test_an_encoding_that_is_not_taken_is_named() -> None:
    async with serving(TABULAR) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.channel.unary_unary(PREDICT)(bytes(1000), compression=grpc.Compression.Deflate)
    assert caught.value.code().name == "UNIMPLEMENTED"
    assert "deflate" in str(caught.value.details())


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"something")[:-9],
        gzip.compress(b"something") + gzip.compress(b"more"),
        gzip.compress(b"something")[:-8] + bytes(8),
        b"\x1f\x8bnothing",
    ],
    ids=["cut", "two members", "checksum", "nothing"],
)
async def test_broken_gzip_is_the_callers(content: bytes) -> None:
    async with serving(TABULAR) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.channel.unary_unary(PREDICT)(content)
    assert (caught.value.code().name, seen(caught.value)["code"]) == ("INVALID_ARGUMENT", "content_encoding")


async def test_a_bomb_costs_no_more_than_the_limit_of_a_message() -> None:
    async with serving(TABULAR, max_message_bytes=LIMIT) as served:
        await served.channel.unary_unary(PREDICT)(message(1).SerializeToString())  # what is needed once is there
        before = restarted_peak()
        sender = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SENDER, f"127.0.0.1:{served.server.port}", stdout=asyncio.subprocess.PIPE
        )
        output, _ = await sender.communicate()
        grown = peak() - before
        alive = await served.channel.unary_unary(PREDICT)(message(1).SerializeToString())
    code, detail = output.decode().split()
    error = common_pb2.ErrorDetail.FromString(bytes.fromhex(detail))
    assert (code, error.code, error.unit, error.allowed) == (
        "RESOURCE_EXHAUSTED",
        "body_too_large",
        "bytes",
        f"[0, {LIMIT}]",
    )
    assert grown < BOMB_BYTES // 4
    assert alive


@pytest.mark.parametrize(("size", "limit", "fits"), [(100, 100, True), (101, 100, False), (0, 0, True)])
def test_the_limit_is_that_of_the_decompressed_message(size: int, limit: int, fits: bool) -> None:
    data = gzip.compress(bytes(size))
    if fits:
        assert decompress(data, limit) == bytes(size)
    else:
        with pytest.raises(DemurError, match=f"more than {limit} bytes"):
            decompress(data, limit)


def test_zlib_without_the_header_of_gzip_is_no_gzip() -> None:
    with pytest.raises(DemurError, match="broken"):
        decompress(zlib.compress(b"something"), 100)


def restarted_peak() -> int:
    """The memory of this process now, bytes, from which its peak is measured on."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("this system does not tell the peak of a process's memory")
    return peak()


def peak() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) << 10
