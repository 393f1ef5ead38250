"""How jobs end: cancelled, late, refused, drained; then random jobs against what always holds."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.request.contract import ItemFailed, Priority, Progress, RowBatch, Step, Work
from services.request.schedule import Limits, Scheduler
from services.runtime.errors import Busy, Cancelled, DeadlineExceeded, Draining, ExecutionFailed
from tests.services.scheduling import LONG, SHORT, Clock, Executor, batch, end, scheduler, steps, submit


async def test_cancel_drops_what_has_not_run() -> None:
    ran: list[int] = []
    gate = threading.Event()

    def call() -> None:
        ran.append(1)
        gate.wait(60)

    async with scheduler() as made:
        job = submit(made, steps(5, call))
        while not ran:
            await asyncio.sleep(0.001)
        job.cancel()
        assert isinstance(await end(job), Cancelled)
        assert (made.active, made.queued_seconds) == (0, 0)
        assert made.queued_bytes == 10, "what runs holds its memory, whoever waits for it"
        gate.set()
        await end(submit(made, steps(1, lambda: None)))
        assert (len(ran), made.queued_bytes) == (1, 0)
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
        held = submit(made, steps(1, lambda: gate.wait(60)))
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
        held = submit(made, steps(1, lambda: gate.wait(60)))
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
        jobs = [submit(made, steps(2, lambda: gate.wait(600))) for _ in range(3)]
        await asyncio.sleep(0.01)
        made.close()
        ends = await asyncio.wait_for(asyncio.gather(*map(end, jobs)), 60)
        assert all(isinstance(outcome, Cancelled) for outcome in ends)
        gate.set()
        await asyncio.sleep(0.01)
        assert made.active == 0


async def test_passes_are_observed() -> None:
    seen: list[tuple[float, int]] = []
    clock, executor = Clock(), Executor()
    made = Scheduler(Limits(lanes=1), clock, lambda seconds, requests, _: seen.append((seconds, requests)))
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

            ends = await asyncio.wait_for(asyncio.gather(*map(caller, jobs)), 60)
            for plan, how in zip(jobs, ends, strict=True):
                fails = any(fails for _, fails in plan.quanta) and not plan.catches
                assert how in (("failed", "left") if fails else ("finished", "left"))
                if plan.cancelled_after is None or not plan.quanta:
                    assert how == ("failed" if fails else "finished")
            assert len(finished) >= ends.count("finished")
            assert (made.active, made.queued_seconds) == (0, 0)
            assert len(await end(submit(made, steps(lanes + 1, lambda: None)))) == lanes + 1, "no lane was lost"
            async with asyncio.timeout(60):
                while made.queued_bytes:  # of quanta that nobody waits for
                    await asyncio.sleep(0.001)

    asyncio.run(live_through())
