"""Faults of the device at random: no answer of another provider, failures by type, and recovery.

The double is the innermost session of ``tests.models.executors.device_sessions``; graph, scheduler, pipeline and
policy are real.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from models.artefact import Artefact
from models.executors import transfers
from models.executors.onnx import OnnxGraph
from services.app.assembly import Assembled, assemble
from services.request.contract import Call, Priority
from services.request.metrics import Metrics
from services.request.row_task import Packed, RowsRequest
from services.runtime.errors import DemurError, DeviceUnavailable, status
from services.runtime.lifecycle import Lifecycle
from services.runtime.settings import Settings
from tests.models.executors.device_sessions import FAULTS, KINDS, Machine, install
from tests.services.app.test_assembly import TASK

SETTINGS = Settings(task=TASK, lanes=2, provider="cuda", fixed_threshold=1e9, ledger="none", queue_seconds=1e5)
SIZES = {1: 60, 2: 20, 7: 10, 64: 8, 300: 1.5, 1500: 0.5}
"""Rows of calls: on the event loop, in lanes, and of several quanta; with their weights."""
AT_ONCE = 25
BOUND_ROWS = 64
"""Passes of so many rows of ten features have their inputs bound, as maps, windows and long streams have."""


@dataclass
class Weather:
    """When the device fails: spells that begin at random and last for some passes, of each kind of fault in turn."""

    draw: random.Random
    chance: float
    left: int = 0
    kind: int = 0
    spells: int = 0
    injected: Counter[str] = field(default_factory=Counter)

    def __call__(self) -> Exception | None:
        if not self.left and self.draw.random() < self.chance:
            self.left, self.kind = self.draw.choice((1, 1, 2, 5)), self.spells % len(FAULTS)
            self.spells += 1
        if not self.left:
            return None
        self.left -= 1
        self.injected[KINDS[self.kind]] += 1
        return FAULTS[self.kind]()


@pytest.fixture(scope="module")
def rows(reference: Artefact) -> np.ndarray:
    with np.load(reference.path(reference.manifest.golden)) as recorded:
        golden = recorded["rows"]
    schema = reference.schema
    return np.resize(
        golden[((golden >= schema.lower) & (golden <= schema.upper)).all(axis=1)], (max(SIZES), golden.shape[1])
    )


@pytest.fixture(scope="module")
def expected(reference: Artefact, rows: np.ndarray) -> np.ndarray:
    """Means of the rows, kW, from the CPU."""
    (mean,) = OnnxGraph(reference.path("ensemble.onnx")).run({"rows": rows}, ("mean",))
    return mean


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(transfers, "LEAST_BYTES", BOUND_ROWS * 40)
    return install(monkeypatch)


@pytest.fixture
async def assembled(machine: Machine, reference: Artefact) -> AsyncIterator[Assembled]:
    made = assemble(reference, SETTINGS, Metrics(TASK, CollectorRegistry()))
    made.health.first_seconds, made.health.longest_seconds = 1e-4, 1e-3
    made.tenant.warm_up()
    yield made
    made.close()


async def ask(assembled: Assembled, rows: np.ndarray, size: int, priority: Priority) -> Any:
    """A portion, or what the call failed with."""
    request = RowsRequest(Packed(size, rows[:size].astype("<f4").tobytes()))
    try:
        (portion,) = await assembled.tenant.pipeline.answer(request, Call(priority=priority))
    except DemurError as error:
        return error
    return portion


async def until_healthy(assembled: Assembled) -> None:
    async with asyncio.timeout(60):
        while assembled.health.reason:
            await asyncio.sleep(0.001)


async def storm(
    assembled: Assembled, machine: Machine, rows: np.ndarray, expected: np.ndarray, calls: int, chance: float
) -> tuple[Counter[str], Weather]:
    """What became of the calls, each of which was answered with this device's numbers or failed by type."""
    draw = random.Random(23)
    weather = Weather(draw, chance=chance)
    machine.fault = weather
    outcomes: Counter[str] = Counter()
    for _ in range(calls // AT_ONCE):
        sizes = draw.choices([*SIZES], [*SIZES.values()], k=AT_ONCE)
        planned = [(size, Priority(draw.random() < 0.3)) for size in sizes]
        results = await asyncio.gather(*(ask(assembled, rows, size, priority) for size, priority in planned))
        for (size, _), outcome in zip(planned, results, strict=True):
            if isinstance(outcome, DemurError):
                outcomes[f"{type(outcome).__name__} {outcome.code}"] += 1
                continue
            np.testing.assert_allclose(outcome.predictives["power"].mean, expected[:size], rtol=1e-4)
            outcomes["answered"] += 1
        if assembled.health.reason and draw.random() < 0.9:  # some calls come while the device is out
            await until_healthy(assembled)
    machine.fault = lambda: None
    await until_healthy(assembled)
    return outcomes, weather


async def fail_a_bound_pass(assembled: Assembled, machine: Machine, rows: np.ndarray) -> None:
    bound = machine.bound
    faults = iter([FAULTS[0]()])
    machine.fault = lambda: next(faults, None)
    failed = await ask(assembled, rows, BOUND_ROWS, Priority.INTERACTIVE)
    assert isinstance(failed, DeviceUnavailable)
    assert machine.bound == bound + 1
    await until_healthy(assembled)


async def check_storm(
    assembled: Assembled, machine: Machine, rows: np.ndarray, expected: np.ndarray, calls: int, chance: float
) -> None:
    outcomes, weather = await storm(assembled, machine, rows, expected, calls, chance)
    health = assembled.health
    print(
        f"{calls} calls: {dict(outcomes)}; {weather.spells} spells, injected {dict(weather.injected)}; taken out "
        f"{dict(health.failures)}, probes {dict(health.probes)}; passes {machine.passes}, "
        f"{machine.bound} with bound inputs, sessions {len(machine.opened)}"
    )
    assert machine.passes["elsewhere"] == 0
    assert all(providers[0][0] == "CUDAExecutionProvider" for providers, _ in machine.opened)
    assert set(outcomes) == {"answered", "DeviceUnavailable device_failed"}
    assert outcomes.total() == calls
    assert 0 < machine.bound < machine.passes["cuda"]
    assert set(weather.injected) == set(KINDS)
    await fail_a_bound_pass(assembled, machine, rows)  # the storm may have hit none
    assert {"RuntimeError"} < set(health.failures) <= {*KINDS, "RuntimeError"}, "bound passes fail without a class"
    assert health.probes["passed"] == health.failures.total()
    assert assembled.scheduler.active == 0
    for size in SIZES:
        portion = await ask(assembled, rows, size, Priority.INTERACTIVE)
        np.testing.assert_allclose(portion.predictives["power"].mean, expected[:size], rtol=1e-4)


@pytest.mark.long
async def test_faults_at_random_give_no_answer_of_another_provider(
    assembled: Assembled, machine: Machine, rows: np.ndarray, expected: np.ndarray
) -> None:
    await check_storm(assembled, machine, rows, expected, calls=3000, chance=0.05)


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_a_hundred_thousand_calls_with_faults_at_random(
    assembled: Assembled, machine: Machine, rows: np.ndarray, expected: np.ndarray
) -> None:
    await check_storm(assembled, machine, rows, expected, calls=100_000, chance=0.03)


async def test_a_failed_device_takes_no_work_until_golden_inputs_pass(
    assembled: Assembled, machine: Machine, rows: np.ndarray
) -> None:
    lifecycle, changes = Lifecycle(), []
    lifecycle.reason, lifecycle.trouble = "", lambda: assembled.health.reason

    async def changed() -> None:
        changes.append(lifecycle.ready)

    assembled.health.on_change(changed)
    go = asyncio.Event()

    async def probe() -> None:
        await go.wait()
        await assembled.scheduler.in_lane(assembled.tenant.probe)

    assembled.health.probe_with(probe)
    machine.fault = FAULTS[0]
    failed = await ask(assembled, rows, 1, Priority.INTERACTIVE)
    assert isinstance(failed, DeviceUnavailable)
    assert (status(failed).http, status(failed).grpc, failed.code) == (503, "UNAVAILABLE", "device_failed")
    assert failed.retry_after_seconds > 0
    assert not lifecycle.ready
    passes = machine.passes["cuda"]
    refused = await asyncio.gather(*(ask(assembled, rows, 1, Priority.INTERACTIVE) for _ in range(20)))
    assert {type(error) for error in refused} == {DeviceUnavailable}
    assert machine.passes["cuda"] == passes, "refused before anything ran"
    text = assembled_metrics(assembled)
    assert text["demur_device_healthy"] == 0
    assert text["demur_device_failures_total"] == 1
    go.set()
    async with asyncio.timeout(60):
        while not assembled.health.probes["failed"]:
            await asyncio.sleep(0.001)
    machine.fault = lambda: None
    await until_healthy(assembled)
    await asyncio.sleep(0)
    assert changes == [False, True]
    assert lifecycle.ready
    assert assembled_metrics(assembled)["demur_device_healthy"] == 1
    portion = await ask(assembled, rows, 1, Priority.INTERACTIVE)
    assert portion.count == 1


async def test_work_that_waits_fails_with_the_device(assembled: Assembled, machine: Machine, rows: np.ndarray) -> None:
    """Of many calls at once the first fails on the device, the others because of it; none waits for ever."""
    machine.fault = FAULTS[2]
    outcomes = await asyncio.gather(*(ask(assembled, rows, 1500, Priority.BULK) for _ in range(40)))
    assert {type(outcome) for outcome in outcomes} == {DeviceUnavailable}
    assert assembled.scheduler.active == 0
    assert assembled.scheduler.queued_bytes == 0


async def test_a_device_that_says_something_else_stays_out(
    assembled: Assembled, machine: Machine, rows: np.ndarray
) -> None:
    """A session may be opened again, and compute wrongly: golden inputs decide, not the absence of errors."""
    machine.fault = FAULTS[1]
    await ask(assembled, rows, 1, Priority.INTERACTIVE)
    machine.fault = lambda: None
    machine.factor = 1.01
    async with asyncio.timeout(60):
        while assembled.health.probes["failed"] < 2:
            await asyncio.sleep(0.001)
    assert assembled.health.reason
    machine.factor = 1.0
    await until_healthy(assembled)


def assembled_metrics(assembled: Assembled) -> dict[str, float]:
    """Sums of the device's metrics by sample."""
    metrics = Metrics(TASK, CollectorRegistry())
    metrics.watch_device(assembled.health)
    sums: Counter[str] = Counter()
    for family in metrics.collect():
        for sample in family.samples:
            sums[sample.name] += sample.value
    return sums
