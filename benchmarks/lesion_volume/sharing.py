"""Two scans on the lanes of one schedule, and rows of a small model beside them."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Figure
from models.artefact import read
from models.executors.onnx import OnnxGraph, RowGraph
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.inference.members import Members
from services.request.contract import Done, Priority, Progress, RowBatch, Work
from services.request.schedule import Limits, Scheduler
from services.runtime.cores import available_cores
from services.tasks.lesion.request import ScanRequest
from services.tasks.lesion.task import LesionTask, Pace

VESSEL = Path(__file__).resolve().parents[2] / "artefacts" / "vessel" / "dnn-10"
EVERY_SECONDS = 0.02
"""Interval between two short requests, s."""


def measure(name: str, members: Members, recipe: Recipe, content: bytes) -> Iterator[Figure]:
    """Measure one scan, two at once, and a short request alone and beside two scans."""
    results = asyncio.run(_shared(members, recipe, content))
    part = f"{name}: {available_cores()} lanes"
    yield Figure(part, "one scan", results["one"], "s")
    yield Figure(part, "two scans at once, the first to end", results["first"], "s")
    yield Figure(
        part, "two scans at once, both", results["both"], "s", note=f"{results['both'] / results['one']:.2f} x one"
    )
    note = "share of progress that the slower has when the quicker has half"
    yield Figure(part, "fairness", results["fair"], "1", at_least=0.8, note=note)
    alone, beside = results["alone"], results["beside"]
    for percentile in (50, 99):
        quiet, busy = (1e3 * float(np.percentile(times, percentile)) for times in (alone, beside))
        yield Figure(part, f"short request, p{percentile} alone", quiet, "ms", note=f"{len(alone)} requests")
        yield Figure(part, f"short request, p{percentile} beside two scans", busy, "ms", note=f"{len(beside)} requests")


async def _shared(members: Members, recipe: Recipe, content: bytes) -> dict[str, Any]:
    limits = Limits(lanes=available_cores(), queue_seconds=1e6, queue_bytes=1 << 40)
    scheduler = Scheduler(limits, time.monotonic)
    pace = Pace(_window_seconds(members, recipe))
    task = LesionTask(members, recipe, pace, lanes=limits.lanes, keeps_inputs=False)
    try:
        alone = await _short(scheduler, asyncio.get_running_loop().create_task(asyncio.sleep(10)))
        start = time.perf_counter()
        await _scan(scheduler, task, content, [])
        single = time.perf_counter() - start
        start = time.perf_counter()
        logs: tuple[list[tuple[float, float]], ...] = ([], [])
        both = asyncio.gather(*(_scan(scheduler, task, content, log) for log in logs))
        beside = await _short(scheduler, both)
        ends = [log[-1][0] - start for log in logs]
        return {
            "one": single,
            "first": min(ends),
            "both": max(ends),
            "fair": _fairness(*logs),
            "alone": alone,
            "beside": beside,
        }
    finally:
        scheduler.close()


def _window_seconds(members: Members, recipe: Recipe) -> float:
    window = np.zeros((len(recipe.channels), *recipe.window), np.float32)
    members.difference(0, window)
    start = time.perf_counter()
    members.difference(0, window)
    return time.perf_counter() - start


async def _scan(scheduler: Scheduler, task: LesionTask, content: bytes, log: list[tuple[float, float]]) -> None:
    units = await asyncio.to_thread(task.expand, ScanRequest(content))
    job = scheduler.submit(task.run(units), seconds=units.seconds, nbytes=units.nbytes, priority=Priority.INTERACTIVE)
    async for event in job:
        if isinstance(event, Progress):
            log.append((time.perf_counter(), event.fraction))
    log.append((time.perf_counter(), 1.0))


async def _short(scheduler: Scheduler, until: Any) -> list[float]:
    """Return the durations of one-row requests sent at regular times while something else runs."""
    artefact = read(VESSEL)
    rows: Any = RowGraph(OnnxGraph(artefact.path(artefact.manifest.executor.file)), ("mean", "mvar", "varm"))
    with np.load(artefact.path(artefact.manifest.golden)) as golden:
        row = golden["rows"][:1]
    rows.measure(row)
    durations = []
    due = time.perf_counter()
    while not until.done():
        due += EVERY_SECONDS
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        job = scheduler.submit(_rows(rows, row), seconds=1e-4, nbytes=100, priority=Priority.INTERACTIVE)
        async for _ in job:
            pass
        durations.append(time.perf_counter() - due)
    await until
    return durations


def _rows(executor: Any, row: Any) -> Work:
    yield RowBatch(executor, row)
    yield Done(0, 1, {})


def _fairness(first: list[tuple[float, float]], second: list[tuple[float, float]]) -> float:
    """Return the progress of the slower scan over that of the faster when the faster is half done."""
    half = min(next(when for when, share in log if share >= 0.5) for log in (first, second))
    shares = [max((share for when, share in log if when <= half), default=0.0) for log in (first, second)]
    return min(shares) / max(shares)
