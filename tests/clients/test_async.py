"""The asynchronous client: the same answers, errors and bounds."""

import asyncio
from contextlib import aclosing

import grpc
import numpy as np
import pytest

import demur


@pytest.fixture
async def aclient(service):
    retry = demur.Retry(initial_seconds=0.01, max_seconds=0.02)
    async with demur.aconnect(service.target, retry=retry, timeout=10) as opened:
        yield opened


async def later(items):
    for item in items:
        await asyncio.sleep(0)
        yield item


async def test_predict_equals_the_blocking_client(client, aclient, rows, columns):
    batch = rows(50)
    expected = client.vessel.predict(batch, members=True)
    for form in (batch, columns(batch)):
        answer = await aclient.vessel.predict(form, members=True)
        for name in ("mean", "total", "data", "knowledge", "decisions", "shifts", "member_means"):
            np.testing.assert_array_equal(getattr(answer, name), getattr(expected, name))
    assert (await aclient.vessel.describe()) == client.vessel.describe()


@pytest.mark.parametrize("source", [iter, later])
async def test_stream_equals_the_blocking_client(client, aclient, vessel, rows, source):
    batches = [rows(n % 11) for n in range(100)]
    expected = client.vessel.stream(batches, chunk_rows=4)
    vessel_bound = vessel.window_chunks
    async for answer in aclient.vessel.stream(source(batches), chunk_rows=4):
        np.testing.assert_array_equal(answer.mean, next(expected).mean)
    assert next(expected, None) is None
    assert vessel.most_unanswered <= vessel_bound


async def test_many_at_once(aclient, rows, model):
    answers = await asyncio.gather(*(aclient.vessel.predict(rows(n)) for n in range(1, 80)))
    for n, answer in enumerate(answers, 1):
        np.testing.assert_array_equal(answer.mean, model[0](rows(n)))


async def test_errors_are_the_same(aclient, vessel, rows):
    await aclient.vessel.describe()
    bad = rows(4)
    bad[2, 2] = 400
    with pytest.raises(demur.InvalidInput) as caught:
        await aclient.vessel.predict(bad)
    assert (caught.value.field, caught.value.index, caught.value.unit) == ("stw", 2, "kn")
    vessel.faults = [grpc.StatusCode.INTERNAL]
    with pytest.raises(demur.ServiceFailure, match="out of order"):
        await aclient.vessel.predict(rows(1))
    with pytest.raises(demur.TooLarge, match="stream"):
        await aclient.vessel.predict(rows(50_001))


async def test_retried_while_unavailable(aclient, vessel, rows):
    await aclient.vessel.describe()
    vessel.faults = [grpc.StatusCode.UNAVAILABLE] * 3
    assert len(await aclient.vessel.predict(rows(2))) == 2
    vessel.faults = [grpc.StatusCode.UNAVAILABLE] * 4
    with pytest.raises(demur.Unavailable):
        await aclient.vessel.predict(rows(2))
    vessel.faults = [grpc.StatusCode.UNAVAILABLE]
    assert len([answer async for answer in aclient.vessel.stream([rows(1)] * 3)]) == 3


async def test_deadline_and_cancellation(aclient, vessel, rows):
    await aclient.vessel.describe()
    vessel.seconds = 0.5
    with pytest.raises(demur.DeadlineExceeded):
        await aclient.vessel.predict(rows(1), timeout=0.1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await aclient.vessel.predict(rows(1))


async def test_closing_cancels(aclient, vessel, rows):
    async def endless():
        while True:
            yield rows(2)

    async with aclosing(aclient.vessel.stream(endless())) as stream:
        async for _ in stream:
            break
    assert await asyncio.to_thread(vessel.ended.wait, 5)


async def test_failures_are_raised_or_yielded(aclient, rows):
    batches = [rows(1), {"stw": 1}, rows(2)]
    outcomes = [outcome async for outcome in aclient.vessel.stream(batches, on_error="yield")]
    assert isinstance(outcomes[1], demur.ChunkError)
    assert [len(outcomes[i]) for i in (0, 2)] == [1, 2]
    with pytest.raises(demur.InvalidInput) as caught:
        async for _ in aclient.vessel.stream(batches):
            pass
    assert caught.value.__notes__ == ["in batch 1 of the stream"]


async def test_ready(service, aclient):
    assert await aclient.ready()
    service.health.status = 2
    assert not await aclient.ready(0.15)


async def test_a_closed_client_says_so(service, rows):
    async with demur.aconnect(service.target) as aclient:
        await aclient.vessel.predict(rows(1))
    with pytest.raises(RuntimeError, match="closed"):
        await aclient.vessel.predict(rows(1))
