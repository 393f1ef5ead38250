"""Quanta of one request that may run side by side: all lanes for one request, turns for several, clean failures."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from services.request.contract import Done, Progress, RowBatch, Step, Steps, Work
from services.runtime.errors import DemurError
from tests.services.scheduling import LONG, SHORT, Executor, end, scheduler, submit


def several(*calls: Callable[[], Any], seconds: float = LONG) -> Steps:
    return Steps(tuple(Step(call, seconds) for call in calls))


def kept(steps: Steps, results: list[Any]) -> Work:
    results.append((yield steps))
    yield Done(0, 1, {})


async def test_results_keep_their_order_whatever_ends_first() -> None:
    first = threading.Event()

    def slow() -> str:
        assert first.wait(60)
        return "slow"

    def quick() -> str:
        first.set()
        return "quick"

    results: list[Any] = []
    async with scheduler(lanes=2) as made:
        await end(submit(made, kept(several(slow, quick), results)))
    assert results == [["slow", "quick"]]


async def test_one_request_fills_all_lanes() -> None:
    barrier = threading.Barrier(3, timeout=60)
    results: list[Any] = []
    async with scheduler(lanes=3) as made:
        await end(submit(made, kept(several(*[barrier.wait] * 3), results)))
    assert sorted(results[0]) == [0, 1, 2]


@pytest.mark.parametrize(("lanes", "passes"), [(1, [4]), (2, [1, 3]), (4, [1, 1, 1, 1])])
async def test_rows_that_were_cut_for_several_lanes_are_joined_for_the_last_one_only(
    lanes: int, passes: list[int]
) -> None:
    executor = Executor(row_seconds=LONG)
    parts = Steps(tuple(RowBatch(executor, np.full((1, 1), value, np.float32)) for value in range(4)))
    results: list[Any] = []
    async with scheduler(lanes=lanes) as made:
        await end(submit(made, kept(parts, results)))
    assert sorted(executor.passes) == passes
    assert [doubled.tolist() for doubled, _ in results[0]] == [[0], [2], [4], [6]]


@pytest.mark.parametrize("seconds", [LONG, SHORT])
async def test_no_quanta_and_one_quantum_are_lists_too(seconds: float) -> None:
    results: list[Any] = []
    async with scheduler() as made:
        await end(submit(made, kept(Steps(()), results)))
        await end(submit(made, kept(several(lambda: 7, seconds=seconds), results)))
    assert results == [[], [7]]


async def test_requests_take_turns_among_their_quanta() -> None:
    order: list[str] = []

    def work(name: str) -> Work:
        yield several(*[lambda: order.append(name)] * 6)
        yield Done(0, 1, {})

    async with scheduler() as made:
        jobs = [submit(made, work(name)) for name in "abc"]
        await asyncio.gather(*map(end, jobs))
    assert order == list("abc") * 6, "none waits until another's many quanta are through"


async def test_the_first_failure_is_thrown_and_the_rest_is_dropped() -> None:
    ran: list[int] = []
    caught: list[DemurError] = []

    def fail() -> None:
        raise ValueError("broken")

    def work() -> Work:
        try:
            yield several(lambda: ran.append(0), fail, *[lambda: ran.append(1)] * 20)
        except DemurError as error:
            caught.append(error)
        assert (yield several(lambda: "after")) == ["after"]
        assert (yield Step(lambda: "then", LONG)) == "then"
        yield Done(0, 1, {})

    async with scheduler() as made:
        events = await end(submit(made, work()))
    assert [type(event) for event in events] == [Done]
    assert [error.code for error in caught] == ["execution_failed"]
    assert ran == [0]


async def test_a_caught_failure_gives_no_second_place_in_the_queue() -> None:
    order: list[str] = []

    def fail() -> None:
        raise ValueError("broken")

    def failing() -> Work:
        with suppress(DemurError):
            yield several(fail, *[lambda: None] * 5)
        yield several(*[lambda: order.append("failed")] * 6)
        yield Done(0, 1, {})

    def sound() -> Work:
        yield several(*[lambda: order.append("sound")] * 7)
        yield Done(0, 1, {})

    async with scheduler() as made:
        await asyncio.gather(*(end(submit(made, work())) for work in (failing, sound)))
    assert order == ["sound"] + ["failed", "sound"] * 6


async def test_what_still_runs_after_a_failure_ends_unheard() -> None:
    running, gate = threading.Event(), threading.Event()
    heard: list[Any] = []

    def late() -> str:
        running.set()
        gate.wait(60)
        return "late"

    def fail() -> None:
        running.wait(60)
        raise ValueError("broken")

    def work() -> Work:
        try:
            yield several(late, fail)
        except DemurError:
            heard.append((yield Step(lambda: gate.set(), LONG)))
            heard.append((yield several(lambda: "next", lambda: "last")))
        yield Done(0, 1, {})

    async with scheduler(lanes=2) as made:
        await end(submit(made, work()))
    assert heard == [None, ["next", "last"]]


async def test_a_cancelled_request_begins_no_further_quantum() -> None:
    ran: list[int] = []
    held, gate = threading.Event(), threading.Event()

    def first() -> None:
        held.set()
        gate.wait(60)

    def work() -> Generator[Any, Any, None]:
        yield Progress(0.0, "began")
        yield several(first, *[lambda: ran.append(1)] * 5)

    async with scheduler() as made:
        job = submit(made, work())
        await asyncio.get_running_loop().run_in_executor(None, held.wait, 60)
        job.cancel()
        gate.set()
        assert await asyncio.wait_for(end(submit(made, kept(several(lambda: 1), []))), 60)
    assert not ran


def rows(executor: Executor, *batches: tuple[float, ...]) -> Steps:
    return Steps(tuple(RowBatch(executor, np.array(values, np.float32)[:, None]) for values in batches))


async def test_rows_side_by_side_keep_their_order_and_share_passes_with_others() -> None:
    executor = Executor(quantum_rows=4)
    several_batches = ((1.0, 2.0, 3.0, 4.0), (5.0, 6.0), (7.0,))
    alone: list[Any] = []
    shared: list[Any] = []
    async with scheduler() as made:
        await end(submit(made, kept(rows(executor, *several_batches), alone)))
        executor.passes.clear()
        requests = [kept(rows(executor, *several_batches), shared), *(kept(rows(executor, (9.0,)), []) for _ in "abc")]
        await asyncio.gather(*[end(submit(made, work)) for work in requests])
    for (batches,) in (alone, shared):
        doubled = [(2 * np.array(values)).tolist() for values in several_batches]
        assert [output.tolist() for output, _ in batches] == doubled
    assert executor.passes[0] == 4
    assert len(executor.passes) < 6, "six batches in fewer passes"


async def test_rows_side_by_side_run_at_once() -> None:
    barrier = threading.Barrier(2, timeout=60)

    class Meeting(Executor):
        def __call__(self, rows: Any) -> Any:
            barrier.wait()
            return super().__call__(rows)

    results: list[Any] = []
    async with scheduler(lanes=2) as made:
        await end(submit(made, kept(rows(Meeting(quantum_rows=1), (1.0,), (2.0,)), results)))
    assert [doubled.tolist() for doubled, _ in results[0]] == [[2.0], [4.0]]


async def test_bad_rows_side_by_side_harm_no_others() -> None:
    executor = Executor()
    results: list[Any] = []
    async with scheduler() as made:
        failed, sound = await asyncio.gather(
            end(submit(made, kept(rows(executor, (-1.0,), (2.0,)), []))),
            end(submit(made, kept(rows(executor, (3.0,), (4.0,)), results))),
        )
    assert isinstance(failed, DemurError)
    assert not isinstance(sound, DemurError)
    assert [doubled.tolist() for doubled, _ in results[0]] == [[6.0], [8.0]]
