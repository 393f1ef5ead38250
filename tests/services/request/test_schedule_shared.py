"""Quanta that share a pass whatever they hold: joined up to the executor's size, failures kept apart."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from services.request.contract import Done, Shared, Steps, Work
from services.runtime.errors import ExecutionFailed
from tests.services.scheduling import LONG, SHORT, Executor, end, scheduler, submit

BAD = "bad"


@dataclass
class Joiner:
    """Says with whom each content passed; remembers the passes."""

    quantum_size: int = 4
    size_seconds: float = LONG
    short: int = 0
    """Results too few."""
    passes: list[tuple[str, ...]] = field(default_factory=list)

    def seconds(self, size: int) -> float:
        return size * self.size_seconds

    def together(self, contents: Sequence[str]) -> list[tuple[str, int]]:
        self.passes.append(tuple(contents))
        if BAD in contents:
            raise RuntimeError("a bad one")
        return [(content, len(contents)) for content in contents][: len(contents) - self.short * (len(contents) > 1)]


def one(joiner: Any, content: str, results: list[Any], size: int = 1) -> Work:
    results.append((yield Shared(joiner, content, size)))
    yield Done(0, 1, {})


async def together(joiner: Joiner, *contents: str, lanes: int = 1, sizes: Sequence[int] = ()) -> list[Any]:
    """Results of requests that come while one holds the lane, in the order of their ends."""
    results: list[Any] = []
    async with scheduler(lanes=lanes) as made:
        works = [
            one(joiner, content, results, size)
            for content, size in zip(contents, sizes or [1] * len(contents), strict=True)
        ]
        await asyncio.gather(*[end(submit(made, work)) for work in works])
    return results


@pytest.mark.parametrize("seconds", [LONG, SHORT])
async def test_requests_share_a_pass(seconds: float) -> None:
    joiner = Joiner(size_seconds=seconds)
    assert await together(joiner, "a", "b", "c") == [("a", 3), ("b", 3), ("c", 3)]
    assert joiner.passes == [("a", "b", "c")]


async def test_a_pass_is_no_larger_than_the_executor_takes() -> None:
    joiner = Joiner()
    await together(joiner, "a", "b", "c", sizes=(2, 2, 3))
    assert joiner.passes == [("a", "b"), ("c",)]


async def test_a_failure_stays_with_its_owner() -> None:
    joiner = Joiner()
    results: list[Any] = []
    async with scheduler() as made:
        ends = [end(submit(made, one(joiner, content, results))) for content in ("a", BAD, "c")]
        outcomes = await asyncio.gather(*ends, return_exceptions=True)
    assert [isinstance(outcome, ExecutionFailed) for outcome in outcomes] == [False, True, False]
    assert joiner.passes == [("a", BAD, "c"), ("a",), (BAD,), ("c",)]
    assert results == [("a", 1), ("c", 1)]


async def test_a_pass_with_too_few_results_is_repeated_alone() -> None:
    assert await together(Joiner(short=1), "a", "b") == [("a", 1), ("b", 1)]


async def test_other_executors_and_rows_do_not_join() -> None:
    joiner, other, rows = Joiner(), Joiner(), Executor()
    results: list[Any] = []
    async with scheduler() as made:
        works = [one(joiner, "a", results), one(other, "b", results), one(joiner, "c", results)]
        await asyncio.gather(*[end(submit(made, work)) for work in works])
    assert joiner.passes == [("a",), ("c",)]
    assert other.passes == [("b",)]
    assert not rows.passes


async def test_what_runs_side_by_side_is_joined_for_one_lane_and_apart_on_two() -> None:
    for lanes, passes in ((1, [("a", "b")]), (2, [("a",), ("b",)])):
        joiner = Joiner()
        results: list[Any] = []

        def work(joiner: Joiner = joiner, results: list[Any] = results) -> Work:
            results.append((yield Steps((Shared(joiner, "a", 1), Shared(joiner, "b", 1)))))
            yield Done(0, 1, {})

        async with scheduler(lanes=lanes) as made:
            await end(submit(made, work()))
        assert sorted(joiner.passes) == passes
        assert [content for content, _ in results[0]] == ["a", "b"]
