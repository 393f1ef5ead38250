"""Passes over the device: quanta run alone or joined with those of other requests, with failures kept apart."""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np

from models.executors.failures import DeviceFailed
from services.request.contract import Joinable, Quantum, RowBatch, Shared


def run_in_lane(
    quanta: list[Quantum],
    clock: Callable[[], float],
    loop: asyncio.AbstractEventLoop,
    done: Callable[..., None],
) -> None:
    """Run ``run`` in a lane thread, and call ``done`` with its results on the event loop."""
    try:
        results = run(quanta, clock)
    except BaseException as error:  # an exit in a lane must not end the lane
        results = ([error] * len(quanta), clock(), 0.0)
    if not loop.is_closed():
        loop.call_soon_threadsafe(done, *results)


def run(quanta: list[Any], clock: Callable[[], float]) -> tuple[list[Any], float, float]:
    """Return results or exceptions of quanta that share a pass, its start time, and its duration in seconds."""
    start = clock()
    if len(quanta) == 1:
        results = [_attempt(quanta[0])]
    else:
        try:
            results = _run_joined(quanta)
        except DeviceFailed as error:  # alone they would fail, too, or run on an unhealthy device
            results = [error] * len(quanta)
        except Exception:
            results = [_attempt(quantum) for quantum in quanta]
    return results, start, clock() - start


def _attempt(quantum: Quantum) -> Any:
    try:
        if isinstance(quantum, RowBatch):
            return quantum.executor(quantum.rows)
        if isinstance(quantum, Shared):
            return quantum.executor.together([quantum.content])[0]
        return quantum.call()
    except Exception as error:
        return error


def seconds(quanta: list[Quantum]) -> float:
    """Return the expected duration of one pass over quanta; several quanta share one executor."""
    first = quanta[0]
    if isinstance(first, Joinable) and len(quanta) > 1:
        return first.executor.seconds(sum(quantum.size for quantum in quanta if isinstance(quantum, Joinable)))
    return first.seconds


def _run_joined(quanta: list[Any]) -> list[Any]:
    if isinstance(quanta[0], RowBatch):
        return _rows_joined(quanta)
    results = list(quanta[0].executor.together([quantum.content for quantum in quanta]))
    if len(results) != len(quanta):
        raise ValueError(f"{len(results)} results of {len(quanta)} quanta: this pass cannot be shared")
    return results


def _rows_joined(batches: list[RowBatch]) -> list[tuple[np.ndarray[Any, Any], ...]]:
    rows = np.concatenate([batch.rows for batch in batches])
    outputs = batches[0].executor(rows)
    if any(output.shape[-1] != len(rows) for output in outputs):
        raise ValueError("the last axis of an output is not the rows: this pass cannot be shared")
    results = []
    start = 0
    for batch in batches:
        stop = start + len(batch.rows)
        results.append(tuple(output[..., start:stop] for output in outputs))
        start = stop
    return results
