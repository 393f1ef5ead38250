"""More calls than can be answered: who is told so, by whom, and what goes on meanwhile."""

import asyncio
import time

import grpc
import httpx
import msgspec
import pytest

from services.request import admission
from services.request.admission import BURST, Crowd
from services.request.schedule import Limits
from services.transport.http.load_shedding import LoadShedder
from tests.contract.serving import Outcome, Protocol, serving
from tests.contract.toys import rows, volume
from tests.contract.toys.toy import Toy

CALLS = 3


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst may last as long as a busy machine takes for it."""
    monkeypatch.setattr(admission, "PATIENCE_SECONDS", 300.0)


async def test_interactive_calls_are_bounded_in_number_and_bulk_work_is_not(toy: Toy, protocol: Protocol) -> None:
    async with serving(toy, limits=Limits(lanes=1, lane_calls=1)) as served:
        served.probe.hold()
        calls = [asyncio.create_task(served.ask(protocol, toy.slow)) for _ in range(BURST)]
        await served.until(lambda: served.scheduler.active == BURST)
        for _ in range(3):
            refused = await served.ask(protocol, toy.good)
            assert refused.code == ("429" if protocol == "http" else "RESOURCE_EXHAUSTED")
            assert refused.error["code"] == "queue_full"
            assert refused.error["retry_after_seconds"] > 0
        job = await served.job(toy.good)
        served.probe.release()
        assert {outcome.code for outcome in await asyncio.gather(*calls)} == {"OK"}
        assert (await served.ended(job))["state"] == "done"
        assert (await served.ask(protocol, toy.good)).code == "OK"


async def test_a_stream_is_held_back_not_broken_by_interactive_calls(toy: Toy) -> None:
    """Its chunks are real questions, and more of them than may be in the queue."""
    async with serving(toy, limits=Limits(lanes=1, lane_calls=1)) as served:
        served.probe.hold()
        calls = [asyncio.create_task(served.ask("grpc", toy.good)) for _ in range(BURST)]
        await served.until(lambda: served.scheduler.active == BURST)
        stream = served.stream()
        await stream.write({"begin": {"purpose": "decide"}})
        for sequence in range(3):
            await stream.write({"chunk": sequence} | toy.good)
        await stream.done_writing()
        await asyncio.sleep(0.05)
        served.probe.release()
        frames = [frame async for frame in stream]
        assert [outcome.code for outcome in await asyncio.gather(*calls)] == ["OK"] * BURST
        assert not any("error" in frame for frame in frames), frames
        assert frames[-1]["progress"]["chunks"] == 3


async def test_a_call_that_waits_for_a_lane_is_not_in_the_way_of_others() -> None:
    """Slow work is bounded by the schedule; the shedder is for the event loop."""
    shedder = LoadShedder(Crowd(2, time.monotonic))
    async with serving(volume.TOY) as served, served.on_socket(shedder) as client:
        served.probe.hold()
        calls = [asyncio.create_task(client.post("/v1/predict", json=volume.TOY.good)) for _ in range(2 * BURST)]
        await served.until(lambda: served.scheduler.active == len(calls))
        assert shedder.crowd.inside == 0
        served.probe.release()
        assert [response.status_code for response in await asyncio.gather(*calls)] == [200] * len(calls)
        assert shedder.refused == 0


async def test_a_flood_over_http_is_refused_in_words_and_counted() -> None:
    shedder = LoadShedder(Crowd(1, time.monotonic))
    async with serving(rows.TOY) as served, served.on_socket(shedder) as client:
        served.metrics.turned_away(lambda: {("http", "429"): shedder.refused})
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=client.base_url, limits=limits) as many:
            answers = await asyncio.gather(*[many.post("/v1/predict", json=rows.TOY.good) for _ in range(60)])
        codes = [answer.status_code for answer in answers]
        assert set(codes) <= {200, 429}
        assert codes.count(200) >= BURST
        assert codes.count(429) == shedder.refused
        text = served.metrics.text().decode()
        assert (f'code="429",task="{rows.TOY.name}",transport="http"}} {shedder.refused:.1f}' in text) is (
            shedder.refused > 0
        )
        assert (await client.post("/v1/predict", json=rows.TOY.good)).status_code == 200


async def test_few_calls_wait_in_the_library_of_grpc_and_the_rest_is_refused_at_once() -> None:
    async with serving(rows.TOY, waiting_calls=CALLS) as served:
        loop = asyncio.get_running_loop()
        collected = loop.create_future()

        def blocked() -> None:
            address = f"127.0.0.1:{served.server.port}"
            channels = [grpc.insecure_channel(address, (("grpc.use_local_subchannel_pool", 1),)) for _ in range(20)]
            body = msgspec.json.encode(rows.TOY.good)
            path = f"/{served.tenant.grpc.service}/Predict"
            calls = [channel.unary_unary(path).future(body, timeout=120) for channel in channels]
            end = time.monotonic() + 60
            while sum(call.done() for call in calls) < len(calls) - CALLS - 2 and time.monotonic() < end:
                time.sleep(0.05)  # nothing but the library works
            time.sleep(0.5)
            refused = [call for call in calls if call.done()]
            collected.set_result((channels, calls, [call.code() for call in refused]))

        loop.call_soon(blocked)
        channels, calls, refused = await collected
        assert len(refused) >= len(calls) - CALLS - 2, "one or two are taken out already"
        assert set(refused) == {grpc.StatusCode.CANCELLED}
        await served.until(lambda: all(call.done() for call in calls))
        assert {call.code() for call in calls if call.code() not in refused} == {grpc.StatusCode.OK}
        assert (await served.ask("grpc", rows.TOY.good)).code == "OK"
        for channel in channels:
            channel.close()


async def test_a_connection_holds_calls_back_beyond_its_share() -> None:
    async with serving(rows.TOY, max_connection_calls=2) as served:
        served.probe.hold()
        calls: list[asyncio.Task[Outcome]] = [asyncio.create_task(served.ask("grpc", rows.TOY.slow)) for _ in range(4)]
        await served.until(lambda: served.scheduler.active == 2)
        await asyncio.sleep(0.05)
        assert served.scheduler.active == 2
        served.probe.release()
        assert {(await call).code for call in calls} == {"OK"}
