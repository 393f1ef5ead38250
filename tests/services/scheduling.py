"""What the tests of the schedule share: a clock, an executor that remembers, and small pieces of work."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from services.request.contract import Priority, Progress, RowBatch, Step, Work
from services.request.job import Job
from services.request.schedule import Limits, Scheduler
from services.runtime.errors import DemurError

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
