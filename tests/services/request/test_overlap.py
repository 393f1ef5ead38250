"""Longer passes run on the event loop only while requests come one at a time, which some of them find out in a lane."""

import threading

from services.request.contract import Call, Priority
from services.request.overlap import PROBE_EVERY, Overlap
from services.request.schedule import Limits, Scheduler
from tests.contract.serving import serving
from tests.contract.toys import rows
from tests.services.scheduling import LONG, SHORT, end, scheduler, steps, submit

MIDDLE = 0.003
"""Declared seconds of a pass that is long beside others, and short alone."""


def test_requests_must_come_alone_several_times_in_a_row() -> None:
    overlap = Overlap()
    for _ in range(PROBE_EVERY - 1):
        overlap.entered(0)
        assert not overlap.none
        assert not overlap.may_block()
    overlap.entered(0)
    assert overlap.none
    overlap.entered(1)
    assert not overlap.none
    assert not overlap.may_block()


def test_one_in_so_many_takes_a_lane_and_finds_out() -> None:
    overlap = Overlap()
    for _ in range(PROBE_EVERY):
        overlap.entered(0)
    for _ in range(3):
        assert [overlap.may_block() for _ in range(PROBE_EVERY)] == [True] * (PROBE_EVERY - 1) + [False]
        overlap.entered(0)
    overlap.met()
    assert not overlap.may_block()


async def alone(made: Scheduler, times: int = PROBE_EVERY) -> None:
    """Run jobs in a lane, one after the other."""
    for _ in range(times):
        await end(submit(made, steps(1, int)))


async def test_the_schedule_lets_a_longer_pass_run_at_once_while_requests_come_alone() -> None:
    async with scheduler() as made:
        assert made.runs_inline(SHORT)
        assert not made.runs_inline(MIDDLE)
        await alone(made)
        assert made.runs_inline(MIDDLE)
        assert not made.runs_inline(LONG)
        assert [made.runs_inline(MIDDLE) for _ in range(PROBE_EVERY - 1)][-1] is False
        await alone(made, 1)
        assert made.runs_inline(MIDDLE)


async def test_any_request_beside_another_ends_that() -> None:
    gate = threading.Event()
    for priority in Priority:
        async with scheduler() as made:
            await alone(made)
            gate.clear()
            working = submit(made, steps(1, gate.wait), priority)
            assert not made.runs_inline(MIDDLE)
            assert made.runs_inline(SHORT)
            gate.set()
            await end(working)
            assert not made.runs_inline(MIDDLE)
            await alone(made, PROBE_EVERY - 1)
            assert not made.runs_inline(MIDDLE)
            await alone(made, 1)
            assert made.runs_inline(MIDDLE)


async def test_a_request_uses_the_event_loop_or_a_lane_accordingly() -> None:
    limits = Limits(lanes=1, inline_seconds=0.001, alone_seconds=0.02)
    async with serving(rows.TOY, limits=limits) as served:
        pipeline, threads = served.tenant.pipeline, []
        noted = served.probe.quantum

        def quantum(values: list[float]) -> None:
            threads.append(threading.current_thread() is threading.main_thread())
            noted(values)

        served.probe.quantum = quantum  # type: ignore[method-assign]
        for _ in range(2 * PROBE_EVERY + 1):
            request, _ = rows.read(rows.rows(rows.row(1)))
            (answer,) = await pipeline.answer(request, Call())
            assert answer.predictives["level"].mean.tolist() == [2.0]
        assert threads == [False] * PROBE_EVERY + [True] * (PROBE_EVERY - 1) + [False, True]
