"""Batches of calls that may run in parallel, driven by a scheduler or a thread pool."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call:
    """Bounded piece of work."""

    seconds: float
    """Expected duration, seconds."""
    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that may run in parallel, in any order; their results are sent back in the order of ``calls``."""

    calls: tuple[Call, ...]
    stage: str
    """Description of the work."""
    done: float
    """Share of the whole work that is done before this batch, 0 to 1."""


def batch_of(stage: str, done: float, *calls: tuple[float, Callable[[], Any]]) -> Batch:
    """Return a batch of pairs (expected seconds, function)."""
    return Batch(tuple(Call(seconds, function) for seconds, function in calls), stage, done)


def finished(steps: Generator[Batch, list[Any], Result], threads: int = 1) -> Result:
    """Run all batches in ``threads`` threads and return the generator's result."""
    with ThreadPoolExecutor(threads) as pool:
        run = map if threads == 1 else pool.map
        results: list[Any] = []
        try:
            batch = next(steps)
            while True:
                results = list(run(lambda call: call.function(), batch.calls))
                batch = steps.send(results)
        except StopIteration as end:
            result: Result = end.value
            return result
