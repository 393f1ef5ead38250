"""Passes: rows of many requests joined, and failures that stay with their owner."""

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from services.request.contract import ItemFailed, Priority, Progress, Step, Work
from services.runtime.errors import DemurError, ExecutionFailed, InvalidInput
from tests.services.scheduling import LONG, Executor, batch, end, scheduler, steps, submit


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


async def test_quick_rows_share_a_pass_also_behind_long_work_that_waits_for_a_lane() -> None:
    gate, executor = threading.Event(), Executor(row_seconds=1e-5, fixed_seconds=1e-5)
    async with scheduler() as made:
        held, waiting = (submit(made, steps(1, lambda: gate.wait(600))) for _ in range(2))
        await asyncio.sleep(0.01)
        rows = [end(submit(made, batch(executor, float(number)))) for number in range(20)]
        await asyncio.wait_for(asyncio.gather(*rows), 60)
        gate.set()
        await asyncio.gather(end(held), end(waiting))
    assert len(executor.passes) < 10


async def test_classes_and_executors_do_not_share_a_pass() -> None:
    first, other = Executor(), Executor()
    async with scheduler() as made:
        await asyncio.gather(
            end(submit(made, batch(first, 1.0))),
            end(submit(made, batch(other, 1.0))),
            end(submit(made, batch(first, 1.0), Priority.BULK)),
        )
    assert (first.passes, other.passes) == ([1, 1], [1])


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
        assert isinstance(await asyncio.wait_for(end(submit(made, steps(1, leave))), 60), ExecutionFailed)
        assert len(await asyncio.wait_for(end(submit(made, steps(2, lambda: None))), 60)) == 2
