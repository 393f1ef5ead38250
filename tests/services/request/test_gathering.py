"""Joint passes and their gathering: who shares a pass, who is answered at once, and that failures stay apart."""

import asyncio
import math
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from models.executors.failures import DeviceFailed
from services.request.contract import Call
from services.request.gathering import LINGER_SECONDS, PROBE_EVERY, Gathering
from services.request.joint_pass import MOST_REQUESTS, JointPass, SmallRequest
from services.request.row_task import Named, RowsRequest
from services.request.schedule import Limits
from services.request.validate import Column
from services.runtime.errors import Busy, DeadlineExceeded, DemurError, ExecutionFailed, InvalidInput
from tests.contract.serving import Served, serving
from tests.contract.toys import rows
from tests.services.scheduling import end, steps, submit

QUICK = Limits(lanes=1, inline_seconds=0.155)
"""Fifteen passes of the toy are short enough for the event loop, sixteen are not."""


@asynccontextmanager
async def gathering(clock: Callable[[], float] = lambda: 0.0) -> AsyncIterator[tuple[Served, Gathering[Any, Any]]]:
    async with serving(rows.TOY, limits=QUICK) as served:
        joint = served.tenant.pipeline.joint
        assert joint is not None
        yield served, Gathering(joint, clock)


def small(*records: dict[str, Any], charge: Callable[[int], None] | None = None, **options: Any) -> SmallRequest[Any]:
    request, _ = rows.read(rows.rows(*records))
    return SmallRequest(request, Call(**options), charge)


def levels(answer: Any) -> list[float]:
    return answer.predictives["level"].mean.tolist()


async def test_requests_that_come_together_share_a_pass_and_get_their_own_rows() -> None:
    async with gathering() as (served, gathered):
        requests = [small(rows.row(depth), rows.row(depth + 1)) for depth in range(0, 12, 2)]
        answers = await asyncio.gather(*map(gathered.answer, requests))
        assert [levels(answer) for answer in answers] == [[2.0 * depth, 2.0 * depth + 2] for depth in range(0, 12, 2)]
        assert served.probe.executed == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]  # a pass holds eight rows
        ids = [answer.ids["level"] for answer in answers]
        firsts = [each.first for each in ids]
        assert firsts == sorted(firsts)
        assert all(each.count == 2 for each in ids)


async def test_a_request_that_is_alone_ends_the_lingering_until_the_next_probe() -> None:
    async with gathering() as (served, gathered):
        assert levels(await gathered.answer(small(rows.row(1)))) == [2.0]
        for _ in range(PROBE_EVERY - 1):  # at once: two that come together are two passes
            served.probe.executed.clear()
            await gathered.answer(small(rows.row(1)))
            assert gathered._waiting == []
        served.probe.executed.clear()
        await asyncio.gather(*[gathered.answer(small(rows.row(depth))) for depth in (1, 2, 3)])
        assert served.probe.executed == [[1, 2, 3]]
        await asyncio.gather(*[gathered.answer(small(rows.row(depth))) for depth in (4, 5)])
        assert served.probe.executed == [[1, 2, 3], [4, 5]]


async def test_a_request_lingers_only_as_long_as_it_may() -> None:
    now = 0.0
    async with gathering(lambda: now) as (served, gathered):
        first = asyncio.ensure_future(gathered.answer(small(rows.row(1))))
        await asyncio.sleep(0)
        now = LINGER_SECONDS
        for _ in range(4):
            await asyncio.sleep(0)
        assert first.done()
        assert served.probe.executed == [[1]]


async def test_the_core_is_not_yielded_while_a_lane_would_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    yields, gate = [], threading.Event()
    monkeypatch.setattr(os, "sched_yield", lambda: yields.append(gate.is_set()))
    async with gathering() as (served, gathered):
        held = submit(served.tenant.pipeline._scheduler, steps(1, lambda: gate.wait(60), 1.0))
        while gathered.joint.lanes_idle:
            await asyncio.sleep(0.001)
        assert levels(await gathered.answer(small(rows.row(1)))) == [2.0]
        assert yields == []
        gate.set()
        await end(held)
        gathered._alone = 0
        await gathered.answer(small(rows.row(1)))
        assert set(yields) == {True}


async def test_a_request_is_as_long_as_its_longest_column() -> None:
    async with gathering() as (_, gathered):
        columns = tuple(Column(name, [1.0] * n) for name, n in (("note", 1), ("depth", 1000), ("tilt", 1000)))
        assert gathered.joint.duration(RowsRequest(Named(columns))) == math.inf


async def test_nothing_is_retried_on_a_device_that_failed() -> None:
    async with gathering() as (served, gathered):
        executor, passes = served.tenant.pipeline.task._executor, []

        def failing(values: Any) -> Any:
            passes.append(len(values))
            raise DeviceFailed("lost") if len(values) == 1 else ValueError("together")

        served.tenant.pipeline.task._executor = served.tenant.pipeline.task._member_executor = Failing(
            executor, failing
        )
        outcomes = gathered.joint.answer([small(rows.row(depth)) for depth in range(5)])
        assert passes == [5, 1]
        assert all(isinstance(outcome, DemurError) for outcome in outcomes)


class Failing:
    """Executor that raises."""

    def __init__(self, like: Any, call: Callable[[Any], Any]) -> None:
        self.quantum_rows, self.seconds, self._call = like.quantum_rows, like.seconds, call

    def __call__(self, values: Any) -> Any:
        return self._call(values)


async def test_passes_are_bounded() -> None:
    async with gathering() as (served, gathered):
        await asyncio.gather(*[gathered.answer(small(rows.row(depth))) for depth in range(2 * MOST_REQUESTS)])
        assert sum(map(len, served.probe.executed)) == 2 * MOST_REQUESTS
        assert max(map(len, served.probe.executed)) <= rows.QUANTUM_ROWS


async def test_a_caller_that_leaves_while_it_waits_costs_no_row() -> None:
    async with gathering() as (served, gathered):
        stays, leaves = (asyncio.ensure_future(gathered.answer(small(rows.row(depth)))) for depth in (1, 2))
        await asyncio.sleep(0)
        leaves.cancel()
        assert levels(await stays) == [2.0]
        assert served.probe.executed == [[1]]
        assert leaves.cancelled() or leaves.cancelling()


async def test_failures_stay_apart() -> None:
    async with gathering() as (_, gathered):
        requests = [
            small(rows.row(1)),
            small(rows.row(101)),
            small(rows.row(rows.POISON)),
            small(rows.row(2), deadline=-1.0),
            small(rows.row(3), defer_above={"speed": 1.0}),
            small(rows.row(4), defer_above={"level": 0.01}),
        ]
        outcomes = await asyncio.gather(*map(gathered.answer, requests), return_exceptions=True)
        kinds = [type(outcome) for outcome in outcomes[1:5]]
        assert kinds == [InvalidInput, ExecutionFailed, DeadlineExceeded, InvalidInput]
        assert levels(outcomes[0]) == [2.0]
        assert levels(outcomes[5]) == [8.0]


async def test_a_charged_request_runs_alone_and_is_charged_once() -> None:
    charged: list[int] = []

    def refuse(units: int) -> None:
        raise Busy("no more", code="rate_limited")

    async with gathering() as (served, gathered):
        requests = [
            small(rows.row(1)),
            small(rows.row(2), rows.row(3), charge=charged.append),
            small(rows.row(4), charge=refuse),
            small(rows.row(101), charge=charged.append),
            small(rows.row(5)),
        ]
        outcomes = await asyncio.gather(*map(gathered.answer, requests), return_exceptions=True)
        assert [isinstance(outcome, DemurError) for outcome in outcomes] == [False, False, True, True, False]
        assert charged == [2]
        assert sorted(served.probe.executed) == [[1, 5], [2, 3]]


async def test_calls_over_grpc_share_passes_under_load() -> None:
    async with serving(rows.TOY, limits=QUICK) as served:
        outcomes = await asyncio.gather(*[served.ask("grpc", rows.TOY.good) for _ in range(200)])
        assert {outcome.code for outcome in outcomes} == {"OK"}
        assert len(served.probe.executed) < 200


@pytest.mark.parametrize("error", [RuntimeError("secret"), InvalidInput("no", code="x")])
async def test_a_defect_of_a_pass_ends_its_requests_only(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gathering() as (_, gathered):
        joint: JointPass[Any, Any] = gathered.joint

        def broken(*args: Any) -> Any:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(joint, "_decide", broken)
            outcomes = await asyncio.gather(
                *[gathered.answer(small(rows.row(depth))) for depth in (1, 2)], return_exceptions=True
            )
            assert all(isinstance(outcome, DemurError) for outcome in outcomes)
            assert not any("secret" in str(outcome) for outcome in outcomes)
            patch.setattr(joint, "answer", broken)
            outcomes = await asyncio.gather(
                *[gathered.answer(small(rows.row(depth))) for depth in (1, 2)], return_exceptions=True
            )
            assert outcomes == [error, error]
        assert levels(await gathered.answer(small(rows.row(3)))) == [6.0]
