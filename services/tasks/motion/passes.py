"""Planning of a chunk's rows in passes that run side by side, with isolation of failed rows."""

from collections.abc import Generator, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.tasks.motion.inference.planning import Arrays, Planning
from services.request.contract import RowBatch, Steps
from services.runtime.errors import DemurError

PassResults = list[tuple[range, Arrays | DemurError]]
"""Consecutive ascending rows, each range with the result of planning or its error."""


def planned(
    planning: Planning, block: NDArray[np.float32], rows: list[int], lanes: int
) -> Generator[Any, Any, PassResults]:
    """Plan some ascending rows of a block; results of consecutive rows are joined.

    No pass takes more than a lane's share of the rows, so that all lanes have work. If a pass fails, each row is
    planned by itself, so that a failure affects its own request only.
    """
    share = min(planning.quantum_rows, -(-len(rows) // lanes))
    passes = [piece for run in _runs(rows) for piece in _cut(run, share)]
    try:
        results = yield Steps(tuple(_batch(planning, block, piece) for piece in passes))
    except DemurError:
        return (yield from _one_by_one(planning, block, rows))
    return list(_joined(zip(passes, results, strict=True)))


def _one_by_one(planning: Planning, block: NDArray[np.float32], rows: list[int]) -> Generator[Any, Any, PassResults]:
    results: PassResults = []
    for row in rows:
        alone = range(row, row + 1)
        try:
            results.append((alone, (yield _batch(planning, block, alone))))
        except DemurError as error:
            results.append((alone, error))
    return results


def _batch(planning: Planning, block: NDArray[np.float32], rows: range) -> RowBatch:
    return RowBatch(planning, block[rows.start : rows.stop])


def _runs(rows: list[int]) -> Iterator[range]:
    """Yield ascending rows as ranges without gaps."""
    start = 0
    for place in range(1, len(rows) + 1):
        if place == len(rows) or rows[place] != rows[place - 1] + 1:
            yield range(rows[start], rows[place - 1] + 1)
            start = place


def _cut(rows: range, most: int) -> Iterator[range]:
    return (rows[start : start + most] for start in range(0, len(rows), most))


def _joined(parts: Iterable[tuple[range, Arrays]]) -> Iterator[tuple[range, Arrays]]:
    """Join parts that follow each other."""
    waiting: list[tuple[range, Arrays]] = []
    for part in parts:
        if waiting and waiting[-1][0].stop != part[0].start:
            yield _one(waiting)
            waiting = []
        waiting.append(part)
    if waiting:
        yield _one(waiting)


def _one(parts: list[tuple[range, Arrays]]) -> tuple[range, Arrays]:
    rows = range(parts[0][0].start, parts[-1][0].stop)
    return rows, tuple(
        np.concatenate(arrays, axis=-1) for arrays in zip(*(arrays_of_part for _, arrays_of_part in parts), strict=True)
    )
