"""Ready, in flight, draining."""

import asyncio
import time

from services.runtime.lifecycle import LAST_ORDERS_SECONDS, Lifecycle, unhurried


async def drained_grpc(seconds: float) -> None:
    assert seconds >= 0


def test_a_process_is_ready_once_there_is_no_reason_against_it() -> None:
    lifecycle = Lifecycle()
    assert not lifecycle.ready
    lifecycle.reason = ""
    assert lifecycle.ready
    lifecycle.leaving = True
    assert not lifecycle.ready


async def test_a_drain_waits_for_the_last_call() -> None:
    lifecycle = Lifecycle()
    with lifecycle.in_flight():
        with lifecycle.in_flight():
            drain = asyncio.create_task(lifecycle.drain(drained_grpc, 600))
            await asyncio.sleep(0.01)
            assert not lifecycle.draining, "what was already sent is still taken"
            async with asyncio.timeout(60):
                while not lifecycle.draining:
                    await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        assert not drain.done()
    await asyncio.wait_for(drain, 60)


async def test_last_orders_are_taken_on_a_machine_that_stands_still() -> None:
    """A call that lies in a socket needs some turns of the event loop, however long each of them takes."""
    turns = await _turns_of_last_orders(longest=60)
    assert turns > 30


async def test_last_orders_take_longer_while_the_machine_is_busy() -> None:
    """Threads that read sockets compete with what makes the event loop late."""
    start = asyncio.get_running_loop().time()
    await _turns_of_last_orders(longest=60)
    assert asyncio.get_running_loop().time() - start > 4 * LAST_ORDERS_SECONDS


async def test_last_orders_end_with_the_time_of_a_drain() -> None:
    assert await _turns_of_last_orders(longest=2 * LAST_ORDERS_SECONDS) <= 25


async def _turns_of_last_orders(longest: float) -> int:
    """Of a loop in which every turn takes a tenth of the time of last orders."""
    turns = 0

    async def slow() -> None:
        nonlocal turns
        while True:
            time.sleep(LAST_ORDERS_SECONDS / 10)
            turns += 1
            await asyncio.sleep(0)

    stalling = asyncio.create_task(slow())
    await unhurried(LAST_ORDERS_SECONDS, longest)
    stalling.cancel()
    return turns


async def test_a_failing_call_is_no_longer_in_flight() -> None:
    lifecycle = Lifecycle()
    try:
        with lifecycle.in_flight():
            raise KeyError
    except KeyError:
        pass
    await asyncio.wait_for(lifecycle.drain(drained_grpc, 600), 60)


async def test_a_drain_ends_with_its_time_and_survives_a_failing_server() -> None:
    async def broken(seconds: float) -> None:
        raise RuntimeError

    lifecycle = Lifecycle()
    with lifecycle.in_flight():
        await asyncio.wait_for(lifecycle.drain(broken, 0.02), 60)


async def test_a_drain_without_calls_is_over_at_once() -> None:
    await asyncio.wait_for(Lifecycle().drain(drained_grpc, 600), 60)
