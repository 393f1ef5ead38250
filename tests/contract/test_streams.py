"""gRPC streams of rows: order, item errors, a bounded window, clean ends, bounded memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from tests.contract.serving import Served, detail, serving
from tests.contract.toys import rows
from tests.contract.toys.wire import JSON

TOY = rows.TOY
GOOD = [rows.row(10), rows.row(12)]


def chunk(sequence: int, *given: dict[str, Any]) -> dict[str, Any]:
    return {"chunk": sequence, "rows": list(given or GOOD)}


async def sent(served: Served, *frames: Any) -> list[dict[str, Any]]:
    """All answers to frames that are sent at once."""

    async def requests() -> AsyncIterator[Any]:
        for frame in frames:
            yield frame

    path = f"/{served.tenant.grpc.service}/PredictStream"
    call = served.channel.stream_stream(path, request_serializer=JSON.encode, response_deserializer=JSON.decode)
    return [frame async for frame in call(requests())]


def strangers(before: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    """Tasks that are new, but for the one in which the library waits for the next call."""
    return {task for task in asyncio.all_tasks() - before if "AioServer" not in repr(task)}


async def test_chunks_are_answered_in_their_order() -> None:
    async with serving(TOY, lanes=2) as served:
        frames = [chunk(index, *[rows.row(float(index % 50))] * (index % 3 + 1)) for index in range(40)]
        first, *results, last = await sent(served, *frames)
        assert first == {"accepted": True}
        assert [frame["result"] for frame in results] == list(range(40))
        for index, frame in enumerate(results):
            said = [item["heads"]["level"]["says"] for item in frame["answer"]["items"]]
            assert said == [2.0 * (index % 50)] * (index % 3 + 1), "each chunk has the answer to its own rows"
        units = sum(2 * (index % 3 + 1) for index in range(40))
        assert last == {"progress": {"chunks": 40, "units": units}}


async def test_a_stream_gives_the_answers_of_single_calls() -> None:
    async with serving(TOY) as served:
        single = await served.ask("grpc", TOY.doubtful)
        _, frame, _ = await sent(served, chunk(0, *TOY.doubtful["rows"]))
        assert type(single)("OK", frame["answer"]).timeless == single.timeless | {"purpose": "explore"}


async def test_purpose_and_wishes_hold_for_the_whole_stream() -> None:
    async with serving(TOY) as served:
        begin = {"begin": {"purpose": "decide", "defer_above": TOY.strict}}
        _, *results, _ = await sent(served, begin, chunk(0), chunk(1))
        for frame in results:
            assert frame["answer"]["purpose"] == "decide"
            for item in frame["answer"]["items"]:
                assert {head["decision"] for head in item["heads"].values()} == {"CALLER_DEFERRED"}


async def test_a_failing_chunk_is_an_item_error_and_the_stream_goes_on() -> None:
    async with serving(TOY) as served:
        frames = [
            chunk(0),
            chunk(1, rows.row(101)),
            chunk(2),
            chunk(3, rows.row(rows.POISON)),
            chunk(4, {"depth": 1}),
            {"chunk": 5, "rows": []},
            chunk(6),
        ]
        _, *results, last = await sent(served, *frames)
        assert [frame.get("result", frame.get("failed")) for frame in results] == list(range(7))
        codes = {frame["failed"]: frame["error"]["code"] for frame in results if "failed" in frame}
        assert codes == {1: "out_of_range", 3: "execution_failed", 4: "missing_column", 5: "not_a_body"}
        assert last["progress"] == {"chunks": 7, "units": 12}
        assert served.scheduler.active == 0


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([{"begin": {}}, {"begin": {}}], "begun_twice"),
        ([chunk(0), {"begin": {}}], "begun_twice"),
        ([chunk(0), {"other": 1}], "empty_frame"),
        ([{"begin": {"defer_above": 1.0}}], "head_needed"),
    ],
)
async def test_frames_out_of_order_end_the_stream_after_what_was_asked(frames: list[Any], code: str) -> None:
    async with serving(TOY) as served:
        before = asyncio.all_tasks()
        answers = []

        async def requests() -> AsyncIterator[Any]:
            for frame in frames:
                yield frame

        call = served.channel.stream_stream(
            f"/{served.tenant.grpc.service}/PredictStream",
            request_serializer=JSON.encode,
            response_deserializer=JSON.decode,
        )(requests())

        async def read() -> None:
            async for answer in call:
                answers.append(answer)

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await read()
        assert caught.value.code().name == "INVALID_ARGUMENT"
        assert detail(caught.value)["code"] == code
        assert len([a for a in answers if "result" in a]) == len([f for f in frames if "chunk" in f])
        await served.until(lambda: not strangers(before))


async def test_bytes_that_are_no_frame_end_the_stream_with_a_typed_error() -> None:
    async with serving(TOY) as served:
        call = served.channel.stream_stream(f"/{served.tenant.grpc.service}/PredictStream")()
        await call.write(b"\xff{")
        await call.read()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert caught.value.code().name == "INVALID_ARGUMENT"
        assert detail(caught.value)["code"] == "not_a_message"


async def test_a_defect_in_reading_is_typed_and_says_nothing_of_itself(caplog) -> None:
    async with serving(TOY) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await sent(served, 7)  # a frame that the toy's reader does not expect
        assert caught.value.code().name == "INTERNAL"
        assert detail(caught.value)["code"] == "internal"
        assert "argument of type" not in (caught.value.details() or "")
        counted = b'demur_requests_total{code="INTERNAL",task="rows",transport="grpc_stream"} 1.0'
        await served.until(lambda: counted in served.metrics.text())


async def test_the_service_reads_ahead_by_the_window_only() -> None:
    async with serving(TOY, stream_window_chunks=3) as served:
        served.probe.hold()
        written = 0

        async def requests() -> AsyncIterator[Any]:
            nonlocal written
            for index in range(100):
                yield chunk(index)
                written += 1

        reading = asyncio.create_task(sent_all(served, requests()))
        await served.until(lambda: served.scheduler.active >= 3)
        await asyncio.sleep(0.1)
        assert served.scheduler.active <= 3 + 2, "the window, the chunk that is awaited, the one that waits for room"
        served.probe.release()
        assert len(await reading) == 102
        assert written == 100


async def sent_all(served: Served, requests: AsyncIterator[Any]) -> list[Any]:
    call = served.channel.stream_stream(
        f"/{served.tenant.grpc.service}/PredictStream",
        request_serializer=JSON.encode,
        response_deserializer=JSON.decode,
    )
    return [frame async for frame in call(requests)]


@pytest.mark.parametrize("half_closed", [False, True])
async def test_a_cancelled_stream_leaves_nothing_behind(half_closed: bool) -> None:
    async with serving(TOY) as served:
        await sent(served, chunk(0))
        before = asyncio.all_tasks()
        served.probe.executed.clear()
        served.probe.hold()
        call = served.stream()
        for index in range(3):
            await call.write(chunk(index))
        if half_closed:
            await call.done_writing()
        assert await call.read() == {"accepted": True}
        await served.until(lambda: served.scheduler.active == 3 and len(served.probe.executed) == 1)
        call.cancel()
        await served.until(lambda: served.scheduler.active == 0)
        served.probe.release()
        await served.until(lambda: not strangers(before))
        assert len(served.probe.executed) == 1, "only the quantum that ran ended, unheard"
        assert (await served.ask("grpc", TOY.good)).code == "OK"


async def test_a_full_queue_holds_a_stream_back_and_does_not_break_it() -> None:
    from services.schedule import Limits

    async with serving(TOY, limits=Limits(lanes=1, queue_seconds=0.005)) as served:
        _, *results, _ = await sent(served, *[chunk(index) for index in range(4)])
        assert [frame["result"] for frame in results] == list(range(4))


async def test_a_stream_in_flight_survives_a_drain() -> None:
    async with serving(TOY) as served:
        call = served.stream()
        await call.write(chunk(0))
        assert await call.read() == {"accepted": True}
        assert (await call.read())["result"] == 0
        drain = asyncio.create_task(served.lifecycle.drain(lambda: None, served.server.drain, 5))
        await served.until(lambda: served.lifecycle.draining)
        await asyncio.sleep(0.02)
        await call.write(chunk(1))
        assert (await call.read())["result"] == 1
        await call.done_writing()
        assert (await call.read())["progress"]["chunks"] == 2
        await asyncio.wait_for(drain, 5)


async def test_a_long_stream_needs_bounded_memory() -> None:
    async with serving(TOY, lanes=2) as served:
        frame = chunk(0)

        async def requests(count: int) -> AsyncIterator[Any]:
            for _ in range(count):
                yield frame

        path = f"/{served.tenant.grpc.service}/PredictStream"

        async def run(count: int) -> int:
            call = served.channel.stream_stream(path, request_serializer=JSON.encode, response_deserializer=len)(
                requests(count)
            )
            return len([None async for _ in call])

        await run(100)
        served.probe.executed.clear()
        tracemalloc.start()
        try:
            assert await run(2000) == 2002
            served.probe.executed.clear()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1 << 20, "2000 chunks pass through; a chunk with its answer is some 3 kB"
