"""gRPC streams: order, item errors, items and progress as they come, a bounded window, clean ends, bounded memory."""

import asyncio
import threading
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from services.runtime.offload import INLINE_BYTES
from services.transport.grpc.stream import _Outbox
from tests.contract.serving import Served, detail, serving
from tests.contract.toys import rows, texts, volume
from tests.contract.toys.toy import Toy
from tests.contract.toys.wire import JSON

TOY = rows.TOY
GOOD = [rows.row(10), rows.row(12)]


def chunk(sequence: int, *records: dict[str, Any]) -> dict[str, Any]:
    return {"chunk": sequence, "rows": list(records or GOOD)}


async def sent_all(served: Served, frames: Any) -> list[dict[str, Any]]:
    """All answers to the frames of an iterable."""
    return [frame async for frame in served.stream(frames)]


async def sent(served: Served, *frames: Any) -> list[dict[str, Any]]:
    """All answers to frames that are sent at once."""
    return await sent_all(served, frames)


async def left(call: Any) -> AsyncIterator[dict[str, Any]]:
    """What a stream that was read frame by frame still says."""
    while (frame := await call.read()) is not grpc.aio.EOF:
        yield frame


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
            values = [item["heads"]["level"]["says"] for item in frame["answer"]["items"]]
            assert values == [2.0 * (index % 50)] * (index % 3 + 1), "each chunk has the answer to its own rows"
        units = sum(2 * (index % 3 + 1) for index in range(40))
        assert last == {"progress": {"chunks": 40, "units": units}}


async def test_a_chunk_may_come_in_pieces() -> None:
    async with serving(volume.TOY) as served:
        slices = volume.TOY.good["slices"]
        whole = {"chunk": 1, "slices": slices}
        parts = [{"part": {"slices": slices[:1]}}, {"part": {"slices": []}}, {"chunk": 2, "slices": slices[1:]}]
        _, *frames, last = await sent(served, whole, *parts, {"chunk": 3, "slices": slices[:1]})
        items_of = {frame["items_of"]: frame["answer"]["items"] for frame in frames if "items_of" in frame}
        assert items_of[2][0]["payload"] == items_of[1][0]["payload"]
        assert len(items_of[3][0]["payload"]) == 1, "nothing of one chunk gets into the next"
        assert last["progress"]["chunks"] == 3


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

        async def read() -> None:
            async for answer in served.stream(frames):
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


async def test_items_reach_the_caller_while_their_chunk_runs() -> None:
    async with serving(texts.TOY) as served:
        served.probe.hold()
        call = served.stream()
        await call.write({"chunk": 7, **texts.text("one two three", "short")})
        await call.write({"chunk": 8, **texts.text("next")})
        assert await call.read() == {"accepted": True}
        await served.until(lambda: served.scheduler.active == 2)
        served.probe.release(3)
        first = await asyncio.wait_for(call.read(), 60)
        assert first["items_of"] == 7, "the other chunk is finished, but it is not its turn"
        (item,) = first["answer"]["items"]
        assert (item["item"], item["payload"]) == (1, "SHORT")
        assert served.scheduler.active == 1, "the chunk still runs"
        served.probe.release()
        second, end, other, its_end = [await call.read() for _ in range(4)]
        assert second["answer"]["items"][0]["payload"] == "ONE TWO THREE"
        assert (second["items_of"], end["result"], other["items_of"], its_end["result"]) == (7, 7, 8, 8)
        assert end["answer"]["items"] == its_end["answer"]["items"] == []
        await call.done_writing()
        assert await call.read() == {"progress": {"chunks": 2, "units": 3}}


async def test_progress_reaches_the_caller_while_a_chunk_runs() -> None:
    async with serving(volume.TOY) as served:
        served.probe.hold()
        call = served.stream()
        await call.write({"chunk": 3, **volume.volume([20.0, 80.0], [21.0, 80.0], [22.0, 80.0], [23.0, 80.0])})
        assert await call.read() == {"accepted": True}
        for quarter in (1, 2, 3):
            served.probe.release(1)
            progress = await asyncio.wait_for(call.read(), 60)
            assert progress == {"running": 3, "fraction": quarter / 4, "stage": "slices"}
        served.probe.release()
        await call.done_writing()
        *_, item, end, last = [frame async for frame in left(call)]
        assert item["answer"]["items"][0]["heads"]["burden"]["says"] == 4
        assert (item["items_of"], end["result"]) == (3, 3)
        assert last == {"progress": {"chunks": 1, "units": 1}}


async def test_what_a_later_chunk_has_to_say_waits_for_its_turn() -> None:
    async with serving(volume.TOY, lanes=2) as served:
        frames = [{"chunk": index, **volume.volume(*[[20.0, 80.0]] * (9 - 4 * index))} for index in range(3)]
        accepted, *received, _ = await sent(served, *frames)
        assert accepted == {"accepted": True}
        turns = [frame.get("running", frame.get("items_of", frame.get("result"))) for frame in received]
        assert turns == sorted(turns)
        assert [frame["result"] for frame in received if "result" in frame] == [0, 1, 2]


async def test_unsent_progress_gives_way_to_later_progress() -> None:
    outbox = _Outbox()
    for fraction in range(5):
        outbox.tell(fraction)
    outbox.put("item", 2)
    outbox.tell(5)
    outbox.tell(6)
    outbox.end()
    assert [frame async for frame in outbox] == [(4, 0), ("item", 2), (6, 0)]


async def test_a_failing_sentence_is_an_item_error_and_its_chunk_and_stream_go_on() -> None:
    async with serving(texts.TOY) as served:
        _, *received, last = await sent(
            served, {"chunk": 0, **texts.text("one two three", "a boom", "b")}, {"chunk": 1, **texts.text("c")}
        )
        failed = [frame for frame in received if "failed" in frame]
        assert [(frame["failed"], frame["item"], frame["error"]["code"]) for frame in failed] == [
            (0, 1, "execution_failed")
        ]
        payloads = [frame["answer"]["items"][0]["payload"] for frame in received if "items_of" in frame]
        assert payloads == ["B", "ONE TWO THREE", "C"]
        assert [frame["result"] for frame in received if "result" in frame] == [0, 1]
        assert last == {"progress": {"chunks": 2, "units": 3}}
        assert served.scheduler.active == 0


@pytest.mark.parametrize("toy", [texts.TOY, volume.TOY], ids=lambda toy: toy.name)
async def test_a_cancelled_stream_stops_a_running_chunk_between_quanta(toy: Toy) -> None:
    async with serving(toy) as served:
        before = asyncio.all_tasks()
        served.probe.hold()
        call = served.stream()
        await call.write({"chunk": 0, **toy.slow})
        assert await call.read() == {"accepted": True}
        served.probe.release(2)
        await served.until(lambda: len(served.probe.executed) == 3)
        call.cancel()
        await served.until(lambda: served.scheduler.active == 0)
        served.probe.release()
        await served.until(lambda: not {task for task in strangers(before) if "AioCall" not in repr(task)})
        assert len(served.probe.executed) == 3


async def test_large_chunks_are_checked_beside_the_event_loop_and_answered_alike() -> None:
    async with serving(texts.TOY) as served:
        task = served.tenant.pipeline.task
        expand, where = task.expand, []

        def noted(request: Any) -> Any:
            where.append(threading.current_thread().name)
            return expand(request)

        task.expand = noted
        sizes = (1, 8 * INLINE_BYTES, 1)
        frames = [{"chunk": index, "note": "x" * size, **texts.text("a b")} for index, size in enumerate(sizes)]
        _, *received, last = await sent(served, *frames)
        assert last["progress"] == {"chunks": 3, "units": 3}
        assert [frame["result"] for frame in received if "result" in frame] == [0, 1, 2]
        assert sorted(name.startswith("offload") for name in where) == [False, False, True]


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
    from services.request.schedule import Limits

    async with serving(TOY, limits=Limits(lanes=1, queue_seconds=0.005)) as served:
        _, *results, _ = await sent(served, *[chunk(index) for index in range(4)])
        assert [frame["result"] for frame in results] == list(range(4))


async def test_a_stream_in_flight_survives_a_drain() -> None:
    async with serving(TOY) as served:
        call = served.stream()
        await call.write(chunk(0))
        assert await call.read() == {"accepted": True}
        assert (await call.read())["result"] == 0
        drain = asyncio.create_task(served.lifecycle.drain(served.server.drain, 5))
        await served.until(lambda: served.lifecycle.draining)
        await asyncio.sleep(0.02)
        await call.write(chunk(1))
        assert (await call.read())["result"] == 1
        await call.done_writing()
        assert (await call.read())["progress"]["chunks"] == 2
        await asyncio.wait_for(drain, 60)


@pytest.mark.long
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
