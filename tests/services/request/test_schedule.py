"""Whose turn it is: shares, classes, lanes and the loop."""

import asyncio
import threading

import pytest

from services.request.contract import Priority
from tests.services.scheduling import LONG, SHORT, Executor, batch, end, order_of, scheduler, steps, submit


async def test_shares_follow_the_weights_under_contention() -> None:
    async with scheduler(weights=(4.0, 1.0)) as made:
        order = await order_of(made, {"i": (200, Priority.INTERACTIVE, LONG), "b": (200, Priority.BULK, LONG)})
    contended = order[: order.index("b") + 200]
    assert 3.5 < contended.count("i") / contended.count("b") < 4.5


async def test_shares_are_of_device_time_not_of_quanta() -> None:
    async with scheduler(weights=(1.0, 1.0)) as made:
        order = await order_of(made, {"i": (100, Priority.INTERACTIVE, LONG), "b": (20, Priority.BULK, 10 * LONG)})
    half = order[:55]
    assert 40 <= half.count("i") <= 52, "ten short quanta for each long one"


async def test_jobs_of_a_class_take_turns() -> None:
    async with scheduler() as made:
        order = await order_of(made, {name: (5, Priority.BULK, LONG) for name in "abc"})
    assert order == list("abc") * 5


@pytest.mark.parametrize("alone", list(Priority))
async def test_a_class_that_was_alone_is_not_punished_for_it(alone: Priority) -> None:
    """Device time used while nobody else wanted it counts for nothing once somebody does."""
    async with scheduler(weights=(1.0, 1.0)) as made:
        await order_of(made, {"x": (300, alone, LONG)})
        both = {"i": (40, Priority.INTERACTIVE, LONG), "b": (40, Priority.BULK, LONG)}
        order = await order_of(made, dict(reversed(both.items())) if alone is Priority.BULK else both)
    assert 15 <= order[:40].count("i") <= 25


async def test_a_class_does_not_save_up_while_the_other_works() -> None:
    async with scheduler(weights=(1.0, 1.0)) as made:
        order: list[str] = []
        first = submit(made, steps(200, lambda: order.append("i")))
        iterator = aiter(first)
        for _ in range(100):
            await anext(iterator)
        late = [submit(made, steps(30, lambda: order.append("b")), Priority.BULK) for _ in range(2)]
        before = len(order)
        await asyncio.gather(*map(end, late))
        during = order[before:]
        assert during.count("i") >= 40, "the newcomers share, they do not take all"
        first.cancel()


@pytest.mark.parametrize("long", list(Priority))
async def test_quick_work_does_not_wait_for_a_lane(long: Priority) -> None:
    """Nor for long work of its own class that waits for one, however much quick work there is."""
    gate = threading.Event()
    async with scheduler() as made:
        held = submit(made, steps(1, lambda: gate.wait(600)), long)
        waiting = submit(made, steps(1, lambda: None), long)
        await asyncio.sleep(0.01)
        quick = [submit(made, steps(2, lambda: None, SHORT)) for _ in range(50)]
        assert await asyncio.wait_for(asyncio.gather(*map(end, quick)), 60)
        assert not gate.is_set()
        gate.set()
        await asyncio.gather(end(held), end(waiting))


async def test_quick_quanta_run_on_the_loop_and_long_ones_in_lanes() -> None:
    threads: list[str] = []
    async with scheduler() as made:
        await end(submit(made, steps(1, lambda: threads.append(threading.current_thread().name), SHORT)))
        await end(submit(made, steps(1, lambda: threads.append(threading.current_thread().name), LONG)))
    assert threads[0] == "MainThread"
    assert threads[1].startswith("lane")


async def test_a_joined_pass_is_judged_by_its_own_length() -> None:
    """Sixty quick requests together are not quick: they must not hold the loop."""
    executor = Executor(quantum_rows=100, row_seconds=1e-4, fixed_seconds=0.0)
    async with scheduler(inline_seconds=5e-4) as made:
        await asyncio.gather(*[end(submit(made, batch(executor, 1.0))) for _ in range(60)])
    on_loop = [rows for rows, thread in zip(executor.passes, executor.threads, strict=True) if thread == "MainThread"]
    assert all(rows <= 5 for rows in on_loop)
    assert max(executor.passes) > 5


async def test_the_loop_breathes_between_many_quick_quanta() -> None:
    """After a few quick quanta the rest goes to a lane, so that other callbacks get their turn."""
    threads: list[str] = []
    async with scheduler(inline_seconds=1e-3) as made:
        work = steps(50, lambda: threads.append(threading.current_thread().name), 1e-3)
        await end(submit(made, work))
    assert 0 < threads.count("MainThread") < 50
