"""The scheduler alone: shares, joining, isolation, limits, ends; then random jobs against what always holds."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.errors import Busy, Cancelled, DeadlineExceeded, DemurError, Draining, ExecutionFailed, InvalidInput
from services.job import Job
from services.schedule import Limits, Scheduler
from services.work import ItemFailed, Priority, Progress, RowBatch, Step, Work

LONG = 0.01
"""Declared seconds of a quantum that goes to a lane."""
SHORT = 1e-5
"""Declared seconds of a quantum that runs on the loop."""


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Executor:
    """Doubles rows; remembers the length of each pass."""

    quantum_rows: int = 8
    row_seconds: float = LONG
    fixed_seconds: float = 0.0
    passes: list[int] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)

    def seconds(self, rows: int) -> float:
        return self.fixed_seconds + rows * self.row_seconds

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        self.passes.append(len(rows))
        self.threads.append(threading.current_thread().name)
        if (rows == -1).any():
            raise RuntimeError("a bad row")
        return (rows[:, 0] * 2, np.stack([rows[:, 0], rows[:, 0] + 1]))


@asynccontextmanager
async def scheduler(clock: Callable[[], float] = time.monotonic, **limits: Any) -> AsyncIterator[Scheduler]:
    made = Scheduler(Limits(**({"lanes": 1} | limits)), clock)
    try:
        yield made
    finally:
        made.close()


def steps(count: int, call: Callable[[], Any], seconds: float = LONG) -> Work:
    for index in range(count):
        yield Step(call, seconds)
        yield Progress((index + 1) / count)


def batch(executor: Executor, *values: float) -> Work:
    rows = np.array(values, np.float32).reshape(-1, 1)
    result = yield RowBatch(executor, rows)
    yield Progress(1.0, repr([part.tolist() for part in result]))


def submit(made: Scheduler, work: Work, priority: Priority = Priority.INTERACTIVE, **rest: Any) -> Job:
    return made.submit(work, **({"seconds": 0.1, "nbytes": 10, "priority": priority} | rest))


async def end(job: Job) -> list[Any] | DemurError:
    try:
        return [event async for event in job]
    except DemurError as error:
        return error


async def order_of(made: Scheduler, work: dict[str, tuple[int, Priority, float]]) -> list[str]:
    """The order in which quanta of named jobs ran: name to their number, class and declared seconds."""
    order: list[str] = []
    jobs = [
        submit(made, steps(count, lambda name=name: order.append(name), seconds), priority)
        for name, (count, priority, seconds) in work.items()
    ]
    await asyncio.gather(*map(end, jobs))
    return order


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


async def test_quick_work_does_not_wait_for_a_lane() -> None:
    gate = threading.Event()
    async with scheduler() as made:
        held = submit(made, steps(1, lambda: gate.wait(10)), Priority.BULK)
        waiting = submit(made, steps(1, lambda: None), Priority.BULK)
        await asyncio.sleep(0.01)
        assert await asyncio.wait_for(end(submit(made, steps(2, lambda: None, SHORT))), 5)
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


async def test_rows_of_many_requests_share_a_pass_and_get_their_own_results() -> None:
    executor = Executor()
    requests = [tuple(float(10 * r + c) for c in range(r % 4 + 1)) for r in range(20)]
    async with scheduler() as made:
        alone = [await end(submit(made, batch(executor, *values))) for values in requests]
        assert executor.passes == [len(values) for values in requests]
        executor.passes.clear()
        together = await asyncio.gather(*[end(submit(made, batch(executor, *values))) for values in requests])
    assert together == alone
    assert len(executor.passes) < len(requests) / 2
    assert max(executor.passes) <= executor.quantum_rows


async def test_classes_and_executors_do_not_share_a_pass() -> None:
    one, other = Executor(), Executor()
    async with scheduler() as made:
        await asyncio.gather(
            end(submit(made, batch(one, 1.0))),
            end(submit(made, batch(other, 1.0))),
            end(submit(made, batch(one, 1.0), Priority.BULK)),
        )
    assert (one.passes, other.passes) == ([1, 1], [1])


async def test_a_failing_request_leaves_those_of_its_pass_unharmed() -> None:
    executor = Executor()
    async with scheduler() as made:
        before, failed, after = await asyncio.gather(
            *[end(submit(made, batch(executor, value))) for value in (1.0, -1.0, 3.0)]
        )
    assert executor.passes == [3, 1, 1, 1]
    assert isinstance(failed, ExecutionFailed)
    assert isinstance(failed.__cause__, RuntimeError)
    assert "[2.0]" in before[0].stage
    assert "[6.0]" in after[0].stage


async def test_an_executor_that_loses_rows_harms_nobody_else() -> None:
    class Lossy(Executor):
        def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
            return tuple(part[..., :1] for part in super().__call__(rows))

    executor = Lossy()
    async with scheduler() as made:
        ended = await asyncio.gather(*[end(submit(made, batch(executor, value))) for value in (1.0, 2.0)])
    assert ["[2.0]" in ended[0][0].stage, "[4.0]" in ended[1][0].stage] == [True, True]


async def test_a_generator_may_catch_the_failure_of_a_quantum() -> None:
    def work() -> Work:
        try:
            yield Step(lambda: 1 / 0, LONG)
        except DemurError as error:
            yield ItemFailed(3, error)
        yield Progress((yield Step(lambda: 0.5, LONG)))

    async with scheduler() as made:
        failed, progress = await end(submit(made, work()))
    assert (failed.item, failed.error.code) == (3, "execution_failed")
    assert "ZeroDivisionError" in failed.error.message
    assert "division by zero" not in failed.error.message, "the text of the exception stays inside"
    assert progress == Progress(0.5)


async def test_typed_errors_of_a_quantum_or_a_generator_stay_as_they_are() -> None:
    refusal = InvalidInput("no", code="no")

    def raises() -> Any:
        raise refusal

    def generator() -> Work:
        yield Progress(0)
        raise refusal

    async with scheduler() as made:
        assert await end(submit(made, steps(1, raises))) is refusal
        assert await end(submit(made, generator())) is refusal


@pytest.mark.parametrize("exit_", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
async def test_a_lane_outlives_an_exit_in_a_quantum(exit_: type[BaseException]) -> None:
    def leave() -> None:
        raise exit_

    async with scheduler() as made:
        assert isinstance(await asyncio.wait_for(end(submit(made, steps(1, leave))), 5), ExecutionFailed)
        assert len(await asyncio.wait_for(end(submit(made, steps(2, lambda: None))), 5)) == 2


async def test_cancel_drops_what_has_not_run() -> None:
    ran: list[int] = []
    gate = threading.Event()

    def call() -> None:
        ran.append(1)
        gate.wait(10)

    async with scheduler() as made:
        job = submit(made, steps(5, call))
        while not ran:
            await asyncio.sleep(0.001)
        job.cancel()
        assert isinstance(await end(job), Cancelled)
        assert (made.active, made.queued_seconds, made.queued_bytes) == (0, 0, 0)
        gate.set()
        await end(submit(made, steps(1, lambda: None)))
        assert len(ran) == 1
        job.cancel()
        assert made.active == 0


async def test_a_generator_that_fails_while_it_is_closed_gives_its_place_back(caplog) -> None:
    def stubborn() -> Work:
        try:
            yield Step(lambda: time.sleep(0.01), LONG)
        finally:
            raise RuntimeError("not so fast")

    async with scheduler() as made:
        job = submit(made, stubborn())
        job.cancel()
        assert isinstance(await end(job), Cancelled)
        assert made.active == 0
    assert "not so fast" in caplog.text


async def test_a_late_job_is_dropped_before_it_runs() -> None:
    clock, ran = Clock(), []
    gate = threading.Event()
    async with scheduler(clock) as made:
        held = submit(made, steps(1, lambda: gate.wait(10)))
        late = submit(made, steps(1, lambda: ran.append(1)), deadline=clock() + 5)
        timely = submit(made, steps(1, lambda: ran.append(2)), deadline=clock() + 50)
        await asyncio.sleep(0.01)
        clock.now += 10
        gate.set()
        assert isinstance(await end(late), DeadlineExceeded)
        assert len(await end(timely)) == 1
        await end(held)
    assert ran == [2]


async def test_a_late_job_does_not_get_into_a_shared_pass() -> None:
    clock, executor = Clock(), Executor()
    gate = threading.Event()
    async with scheduler(clock) as made:
        held = submit(made, steps(1, lambda: gate.wait(10)))
        deadlines = (None, clock() + 5, None)
        jobs = [submit(made, batch(executor, float(i)), deadline=d) for i, d in enumerate(deadlines)]
        await asyncio.sleep(0.01)
        clock.now += 10
        gate.set()
        first, late, last = await asyncio.gather(*map(end, jobs))
        await end(held)
    assert isinstance(late, DeadlineExceeded)
    assert executor.passes == [2], "the others still share one"
    assert "[0.0]" in first[0].stage
    assert "[4.0]" in last[0].stage


async def test_a_deadline_holds_between_quanta_too() -> None:
    clock, ran = Clock(), []

    def call() -> None:
        ran.append(1)
        clock.now += 3

    async with scheduler(clock) as made:
        assert isinstance(await end(submit(made, steps(10, call), deadline=clock() + 5)), DeadlineExceeded)
    assert len(ran) == 2


async def test_a_full_queue_refuses_and_says_for_how_long() -> None:
    async with scheduler(queue_seconds=1.0, queue_bytes=100) as made:
        big = submit(made, steps(1, lambda: None), seconds=50.0, nbytes=5)
        with pytest.raises(Busy) as caught:
            submit(made, steps(1, lambda: None))
        assert caught.value.retry_after_seconds == pytest.approx(25)
        assert len(await end(big)) == 1, "one that is larger than the queue runs alone"
        fits = submit(made, steps(1, lambda: None), seconds=0.5, nbytes=60)
        with pytest.raises(Busy):
            submit(made, steps(1, lambda: None), seconds=0.1, nbytes=41)
        also = submit(made, steps(1, lambda: None), seconds=0.5, nbytes=40)
        await asyncio.gather(end(fits), end(also))


async def test_a_drain_refuses_and_finishes() -> None:
    async with scheduler() as made:
        job = submit(made, steps(3, lambda: None))
        made.drain()
        with pytest.raises(Draining):
            submit(made, steps(1, lambda: None))
        assert len(await end(job)) == 3


async def test_closing_ends_every_job() -> None:
    gate = threading.Event()
    async with scheduler() as made:
        jobs = [submit(made, steps(2, lambda: gate.wait(10))) for _ in range(3)]
        await asyncio.sleep(0.01)
        made.close()
        ends = await asyncio.wait_for(asyncio.gather(*map(end, jobs)), 5)
        assert all(isinstance(one, Cancelled) for one in ends)
        gate.set()
        await asyncio.sleep(0.01)
        assert made.active == 0


async def test_passes_are_observed() -> None:
    seen: list[tuple[float, int]] = []
    clock, executor = Clock(), Executor()
    made = Scheduler(Limits(lanes=1), clock, lambda seconds, requests: seen.append((seconds, requests)))
    await asyncio.gather(*[end(submit(made, batch(executor, 1.0))) for _ in range(3)])
    made.close()
    assert seen == [(0.0, 3)]


@dataclass(frozen=True)
class Plan:
    """A random job."""

    quanta: tuple[tuple[str, bool], ...]
    """Kind of each quantum (step, rows, quick) and whether it fails."""
    catches: bool
    priority: Priority
    cancelled_after: int | None
    """Events heard before the caller leaves."""


plans = st.lists(
    st.builds(
        Plan,
        quanta=st.lists(
            st.tuples(st.sampled_from(["step", "rows", "quick"]), st.integers(0, 5).map(lambda n: n == 0)), max_size=5
        ).map(tuple),
        catches=st.booleans(),
        priority=st.sampled_from(list(Priority)),
        cancelled_after=st.none() | st.integers(0, 4),
    ),
    min_size=1,
    max_size=8,
)


def fail() -> None:
    raise RuntimeError("planned")


def planned(plan: Plan, executor: Executor, finished: list[Plan]) -> Iterator[Any]:
    for kind, fails in plan.quanta:
        quantum: Any = Step(fail if fails else lambda: 7, SHORT if kind == "quick" else LONG)
        if kind == "rows":
            quantum = RowBatch(executor, np.full((2, 1), -1 if fails else 7, np.float32))
        try:
            result = yield quantum
            assert not fails
            assert result == 7 or result[0].tolist() == [14, 14]
        except ExecutionFailed as error:
            assert fails
            if not plan.catches:
                raise
            yield ItemFailed(0, error)
        yield Progress(0.5)
    finished.append(plan)


@given(plans, st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_every_job_ends_exactly_once_and_the_books_return_to_zero(jobs: list[Plan], lanes: int) -> None:
    async def live_through() -> None:
        executor, finished = Executor(), []
        async with scheduler(lanes=lanes) as made:

            async def caller(plan: Plan) -> str:
                job = submit(made, planned(plan, executor, finished), plan.priority)
                heard = 0
                try:
                    async for _ in job:
                        heard += 1
                        if heard - 1 == plan.cancelled_after:
                            return "left"
                except ExecutionFailed:
                    return "failed"
                finally:
                    job.cancel()
                return "finished"

            ends = await asyncio.wait_for(asyncio.gather(*map(caller, jobs)), 20)
            for plan, how in zip(jobs, ends, strict=True):
                fails = any(fails for _, fails in plan.quanta) and not plan.catches
                assert how in (("failed", "left") if fails else ("finished", "left"))
                if plan.cancelled_after is None or not plan.quanta:
                    assert how == ("failed" if fails else "finished")
            assert len(finished) >= ends.count("finished")
            assert (made.active, made.queued_seconds, made.queued_bytes) == (0, 0, 0)
            assert len(await end(submit(made, steps(lanes + 1, lambda: None)))) == lanes + 1, "no lane was lost"

    asyncio.run(live_through())
