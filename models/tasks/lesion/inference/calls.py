"""Work as batches of calls that may run side by side, which a scheduler or a pool of threads drives."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Call:
    """A bounded piece of work; its result is what the function returns."""

    seconds: float
    """Expected duration."""
    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Calls that may run side by side, in any order; their results are sent back in this order."""

    calls: tuple[Call, ...]
    stage: str
    """What is being done, in words."""
    done: float
    """Share of the whole work that is finished before this batch, 0 to 1."""


def batch_of(stage: str, done: float, *calls: tuple[float, Callable[[], Any]]) -> Batch:
    """Return a batch of pairs: expected seconds, function."""
    return Batch(tuple(Call(seconds, function) for seconds, function in calls), stage, done)


def finished(steps: Generator[Batch, list[Any], Result], threads: int = 1) -> Result:
    """Run all batches, in so many threads; what the generator returns."""
    with ThreadPoolExecutor(threads) as pool:
        run = map if threads == 1 else pool.map
        results: list[Any] = []
        try:
            batch = next(steps)
            while True:
                results = list(run(lambda call: call.function(), batch.calls))
                batch = steps.send(results)
        except StopIteration as end:
            found: Result = end.value
            return found
