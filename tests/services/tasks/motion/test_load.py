"""What requests cost a process: passes are shared, nothing large runs on the event loop, and nothing stays."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.artefact import Artefact
from models.tasks.motion.artefact import recipe
from models.tasks.motion.inference import maps, members, scenes
from models.tasks.motion.inference.planning import Planning
from models.tasks.motion.inference.render import Renderer
from services.request.contract import Done, ItemFailed, Priority, RowBatch, Step, Steps, Units, Work
from services.runtime.errors import Draining
from services.tasks.motion import inputs, presentation, task
from services.tasks.motion.inputs import Input
from services.tasks.motion.passes import planned
from services.tasks.motion.request import MotionRequest, RenderedForm, SceneForm, TensorForm
from services.tasks.motion.task import MotionTask
from tests.models.motion.towns import town
from tests.services.tasks.motion.conftest import Served, serving
from tests.services.tasks.motion.sameness import timeless
from tests.services.tasks.motion.streets import CONTENT, FAST, rendered, tensor
from tests.services.tasks.served_task import threads_of

MINUTE = 60.0
MAP_BYTES = 4 * 17 * 32 * 32


def made(artefact: Artefact, *, lanes: int = 1, keeps_inputs: bool = False) -> MotionTask:
    plan = recipe.read(artefact)
    planning = Planning(members.members(artefact), plan)
    return MotionTask(planning, plan, task.Pace(), lanes=lanes, keeps_inputs=keeps_inputs)


@asynccontextmanager
async def queued(served: Served, count: int) -> AsyncIterator[None]:
    """What is asked inside begins only when so many requests wait for the one lane."""
    gate, scheduler = threading.Event(), served.assembled.scheduler

    def work() -> Work:
        yield Step(lambda: gate.wait(MINUTE), 1.0)

    held = scheduler.submit(work(), seconds=0.0, nbytes=0, priority=Priority.INTERACTIVE)
    yield
    async with asyncio.timeout(MINUTE):
        while scheduler.active <= count:
            await asyncio.sleep(0.005)
    gate.set()
    assert [event async for event in held] == []


def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passes are declared to be as long as those of a real model, so that they go to the lane."""
    monkeypatch.setattr(Planning, "seconds", lambda self, rows: 0.01 * rows)


async def test_requests_of_many_callers_share_passes_and_get_their_own_answers(
    three: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    plan = Planning.__call__

    def noting(self: Planning, rows: Any) -> Any:
        passes.append(len(rows))
        return plan(self, rows)

    contents = [town(seed, cars=3).SerializeToString() for seed in range(12)]
    async with serving(three, lanes=1) as served:
        alone = [await served.answer(scene=content) for content in contents]
        monkeypatch.setattr(Planning, "__call__", noting)
        slowly(monkeypatch)
        async with queued(served, len(contents)):
            tasks = [asyncio.create_task(served.answer(scene=content)) for content in contents]
        together = await asyncio.gather(*tasks)
    assert sum(passes) == 3 * len(contents)
    assert len(passes) < len(contents), passes
    for single, other in zip(alone, together, strict=True):
        assert list(map(timeless, single["answers"])) == list(map(timeless, other["answers"])), "in no digit"


async def test_a_short_request_is_not_held_up_by_a_large_scene(
    three: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quanta take turns: one car waits for some passes of another's scene, not for the scene."""
    monkeypatch.setattr(task, "MOST_CHUNK", 2)
    slowly(monkeypatch)
    order: list[str] = []
    large = town(3, cars=40).SerializeToString()
    async with serving(three, lanes=1) as served:
        _planning(served.assembled.tenant.pipeline.task).quantum_rows = 2

        async def asked(name: str, **body: Any) -> None:
            await served.answer(**body)
            order.append(name)

        async with queued(served, 4):
            tasks = [asyncio.create_task(asked("large", scene=large))]
            tasks += [asyncio.create_task(asked("small", scene=CONTENT, track_ids=[FAST])) for _ in range(3)]
        await asyncio.gather(*tasks)
    assert order == ["small"] * 3 + ["large"]


def _planning(motion_task: Any) -> Planning:
    return motion_task._planning


async def test_however_small_a_request_is_it_is_read_and_answered_beside_the_event_loop(
    three: Artefact, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some kB of zlib unpack to a megabyte, and answers are larger than scenes."""
    files, packed = rendered(), tensor()
    reading = [(maps, "read_rendered"), (maps, "read_tensor"), (scenes, "parse"), (Renderer, "draw")]
    threads = threads_of(monkeypatch, *reading, (presentation, "submission"), (presentation, "answered"))
    async with serving(three) as served:
        for body in ({"scene": CONTENT}, {"rendered": files}, {"tensor": packed}):
            await served.answer(**body)
        await served.message(scene=CONTENT, track_ids=[FAST], submission=True)
        await served.form(rendered=files[0])
        await served.streamed({"scene": CONTENT, "submission": True})
        await served.form(scene=CONTENT, accept="application/zip")
        await served.job({"scene": CONTENT}, {"submission": "1"})
    for name, workers in threads.items():
        assert workers, name
        assert threading.main_thread() not in workers, name


def test_memory_is_declared_by_what_is_held_at_once(three: Artefact) -> None:
    """Maps of a chunk, not of the whole scene, beside the scene itself or the maps that came."""
    motion_task = made(three)
    few, many = (town(1, cars=cars).SerializeToString() for cars in (4, 200))
    small, large = (motion_task.expand(MotionRequest(SceneForm(content))) for content in (few, many))
    assert (small.count, large.count) == (4, 200)
    assert large.nbytes < 200 * MAP_BYTES
    assert small.nbytes > len(few) + MAP_BYTES
    packed = motion_task.expand(MotionRequest(TensorForm(tensor())))
    assert packed.nbytes > 3 * MAP_BYTES
    assert large.seconds > 10 * small.seconds


def test_many_files_wait_as_they_came(three: Artefact, monkeypatch: pytest.MonkeyPatch) -> None:
    motion_task = made(three)
    unpacked = motion_task.expand(MotionRequest(RenderedForm(tuple(rendered()))))
    monkeypatch.setattr(inputs, "WAITING_BYTES", MAP_BYTES)
    waiting = motion_task.expand(MotionRequest(RenderedForm(tuple(rendered()))))
    assert waiting.nbytes < unpacked.nbytes - 2 * MAP_BYTES
    first, second = (_input(units).source.opened() for units in (unpacked, waiting))
    for item in range(3):
        np.testing.assert_array_equal(first(item), second(item))


def _input(units: Units[Any]) -> Input:
    return units.payload.input


async def test_explored_requests_hold_no_input(
    three: Artefact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expanded: list[Units[Any]] = []
    expand = MotionTask.expand

    def noting(self: MotionTask, request: MotionRequest) -> Units[Any]:
        expanded.append(expand(self, request))
        return expanded[-1]

    monkeypatch.setattr(MotionTask, "expand", noting)
    async with serving(three, tmp_path) as served:
        ledger = served.assembled.ledger
        assert ledger is not None
        answer = await served.answer(scene=CONTENT, purpose="explore")
        held = ledger.explored.nbytes
        ids = [entry["prediction_id"] for entry in answer["answers"]]
        reply = await served.http.post("/v1/commit", json={"units": ids})
        assert (reply.status_code, reply.json()["units"]) == (200, 3), reply.text
    assert [units.payload.input for units in expanded] == [None]
    assert 0 < held < 3 * MAP_BYTES / 2


async def test_a_drain_lets_what_was_taken_end(three: Artefact) -> None:
    large = town(5, cars=60).SerializeToString()
    async with serving(three, lanes=1) as served:
        scheduler = served.assembled.scheduler
        taken = asyncio.create_task(served.answer(scene=large))
        async with asyncio.timeout(MINUTE):
            while not scheduler.active:
                await asyncio.sleep(0.001)
        scheduler.drain()
        refused = await served.post({"scene": CONTENT})
        answer = await taken
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, Draining("", code="draining").code)
    assert len(answer["answers"]) == 60


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    quantum=st.integers(1, 12),
    lanes=st.integers(1, 4),
    most=st.integers(1, 12),
    bad=st.sets(st.integers(0, 9), max_size=9),
)
def test_however_requests_are_cut_each_ends_once(
    three: Artefact, monkeypatch: pytest.MonkeyPatch, quantum: int, lanes: int, most: int, bad: set[int]
) -> None:
    """Whichever fail: the others of a chunk that follow each other are in one ``Done``."""
    monkeypatch.setattr(task, "MOST_CHUNK", most)
    motion_task = made(three, lanes=lanes)
    _planning(motion_task).quantum_rows = quantum
    scene = town(2, cars=10, lanes=3, walkers=1)
    for step in scene.past_vehicle_tracks:
        for track in step.tracks:
            if track.track_id - 1 in bad:
                track.yaw = math.nan
    units = motion_task.expand(MotionRequest(SceneForm(scene.SerializeToString())))
    done, failed = _played(motion_task, units)
    assert failed == sorted(bad)
    assert [item for items in done for item in items] == [item for item in range(10) if item not in bad]
    chunk = max(quantum, min(most, quantum * lanes))
    assert all(items.stop in {10, *bad} or items.stop % chunk == 0 for items in done)


@pytest.mark.parametrize(("lanes", "lengths"), [(1, [8, 4]), (2, [6, 6]), (4, [3, 3, 3, 3])])
def test_every_lane_has_work(three: Artefact, lanes: int, lengths: list[int]) -> None:
    planning = _planning(made(three, lanes=lanes))
    planning.quantum_rows = 8
    steps = next(planned(planning, np.zeros((12, planning.row_values), np.float32), list(range(12)), lanes))
    assert [len(step.rows) for step in steps.steps] == lengths


def _played(motion_task: MotionTask, units: Units[Any]) -> tuple[list[range], list[int]]:
    """The work run without a schedule: items of each ``Done``, and those that failed."""

    def ran(step: Any) -> Any:
        return step.executor(step.rows) if isinstance(step, RowBatch) else step.call()

    work, done, failed = motion_task.run(units), [], []
    result: Any = None
    while True:
        try:
            event = work.send(result)
        except StopIteration:
            return done, failed
        result = None
        if isinstance(event, Steps):
            result = [ran(step) for step in event.steps]
        elif isinstance(event, Step | RowBatch):
            result = ran(event)
        elif isinstance(event, Done):
            assert len(event.payload.remarks) == event.count == len(event.predictives["trajectories"])
            done.append(range(event.first, event.first + event.count))
        elif isinstance(event, ItemFailed):
            failed.append(event.item)
