"""Row graphs as row executors: rows [n, F] in, a tuple of arrays over the rows out."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from models.executors.onnx import OnnxGraph


class RowGraph:
    """Some outputs of a row graph, with a model of how long a pass takes."""

    def __init__(self, graph: OnnxGraph, outputs: tuple[str, ...], quantum_rows: int = 1024) -> None:
        """
        Args:
            quantum_rows: most rows of one pass. Its duration and ONNX Runtime's arena grow with it, and from
                about here on the members' activations leave the core's cache: longer passes are slower a row.
        """
        self.outputs = outputs
        self.quantum_rows = quantum_rows
        self._graph = graph
        self._fixed_seconds = 1e-4
        self._row_seconds = 1e-5

    def __call__(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        return tuple(self._graph.run({"rows": rows}, self.outputs))

    def seconds(self, rows: int) -> float:
        """Expected duration of a pass, as measured by ``measure``."""
        return self._fixed_seconds + rows * self._row_seconds

    def measure(self, rows: NDArray[np.float32], repeats: int = 7) -> None:
        """Warms the graph up with rows [n, F] and fits the model of its duration to medians."""
        one = self._median_seconds(rows[:1], repeats * 4)
        many_rows = np.resize(rows, (1024, rows.shape[1]))
        many = self._median_seconds(many_rows, repeats)
        self._row_seconds = max(many - one, 1e-7) / (len(many_rows) - 1)
        self._fixed_seconds = max(one - self._row_seconds, 1e-6)

    def _median_seconds(self, rows: NDArray[np.float32], repeats: int) -> float:
        self(rows)
        durations = []
        for _ in range(repeats):
            start = time.perf_counter()
            self(rows)
            durations.append(time.perf_counter() - start)
        return float(np.median(durations))
