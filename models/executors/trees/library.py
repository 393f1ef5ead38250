"""The CatBoost library, with which tables are compared before they replace it: models, their raw sums, its speed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.executors.trees.link import linked
from models.executors.trees.model import TreeModel, open_model
from models.executors.trees.native import pooled, raw_pieces
from models.executors.trees.virtual import Cut
from models.head import Head
from models.schema import Schema


class Library(Protocol):
    """The library, in this process or in one of its own (``library_process``), until ``close``."""

    def open(self, path: Path, head: Head, schema: Schema) -> TreeModel:
        """Open and check a model; see ``open_model``."""

    def pieces(self, model: TreeModel, how: Cut, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the raw sums of each piece of an opened model, [S, n, D], over rows [n, F]."""

    def release(self, model: TreeModel) -> TreeModel:
        """Free the library's form of a model, and return the model without it."""

    def seconds(
        self, models: Sequence[tuple[TreeModel, Cut]], rows: NDArray[np.float32], threads: int, repeats: int
    ) -> float:
        """Return the median time in seconds of the outputs of opened models over rows [n, F]."""

    def close(self) -> None:
        """Free everything; idempotent."""


class InProcess:
    """The library in this process. A ``Library``."""

    def open(self, path: Path, head: Head, schema: Schema) -> TreeModel:
        return open_model(path, head, schema)

    def pieces(self, model: TreeModel, how: Cut, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        return raw_pieces(model, how, pooled(rows))

    def release(self, model: TreeModel) -> TreeModel:
        return replace(model, native=None)

    def seconds(
        self, models: Sequence[tuple[TreeModel, Cut]], rows: NDArray[np.float32], threads: int, repeats: int
    ) -> float:
        def outputs() -> None:
            pool = pooled(rows, threads)
            for model, how in models:
                linked(model, how.members(raw_pieces(model, how, pool, threads)))

        return median_seconds(outputs, repeats, time.process_time if threads == 1 else time.perf_counter)

    def close(self) -> None:
        """Models are freed with those that hold them."""


def median_seconds(call: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    """Return the median time of a call in seconds, after one call that is not timed.

    Args:
        clock: of processor time where one thread computes, since a pass that others interrupt would count as slow;
            the library computes on a thread of its own, so its clock is the process's.
    """
    call()
    durations = []
    for _ in range(repeats):
        start = clock()
        call()
        durations.append(clock() - start)
    return float(np.median(durations))
