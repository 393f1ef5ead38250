"""Row executors on row graphs: rows [n, F] in, a tuple of arrays over the rows out."""

import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.executors.onnx import OnnxGraph
from models.executors.pace import Pace

QUANTUM_ROWS = 1024
"""Most rows of a quantum on a CPU."""


class RowGraph:
    """Some outputs of a row graph, with a model of a quantum's duration."""

    def __init__(
        self, graph: OnnxGraph, outputs: tuple[str, ...], *, pass_rows: int = 1024, quantum_rows: int = QUANTUM_ROWS
    ) -> None:
        """
        Args:
            pass_rows: most rows of one pass over the graph. Longer passes are slower per row once the members'
                activations exceed the core's cache.
            quantum_rows: most rows of one quantum, which is as many passes as it needs. Interactive work may have to
                wait for its duration.

        Raises:
            ArtefactError: the graph has no output of that name.
        """
        missing = [name for name in outputs if name not in graph.outputs]
        if missing:
            raise ArtefactError(f"the graph has no output {missing[0]!r}, it has {', '.join(graph.outputs)}")
        self.outputs = outputs
        self.quantum_rows = quantum_rows
        self._pass_rows = pass_rows
        self._graph = graph
        self._pace = Pace()

    def __call__(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        passes = -(-len(rows) // self._pass_rows)
        if passes == 1:
            return tuple(self._graph.run({"rows": rows}, self.outputs))
        parts = [self._graph.run({"rows": part}, self.outputs) for part in np.array_split(rows, passes)]
        return tuple(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))

    def seconds(self, rows: int) -> float:
        """Return the expected duration for a number of rows, from ``measure``."""
        return self._pace.seconds(rows)

    def measure(self, rows: NDArray[np.float32], repeats: int = 7) -> None:
        """Warm the graph up with rows [n, F], and fit the model of its duration."""
        self._pace.measure(self, rows, 1024, repeats)
