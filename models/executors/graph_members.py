"""Members from graphs with one output per head, named after the head."""

import numpy as np
from numpy.typing import NDArray

from models.executors.members import Members
from models.executors.onnx import OnnxGraph


class GraphMembers:
    """``MemberExecutor`` of a graph with one input ``rows`` [N, F] and an output [M, N, K] for each head.

    Raises:
        ArtefactError: the graph has no output with the name of a head.
    """

    def __init__(self, graph: OnnxGraph, heads: tuple[str, ...], *, pass_rows: int = 8) -> None:
        """
        Args:
            pass_rows: most rows of one pass over the graph. Longer passes are slower per row once activations exceed
                the core's cache.
        """
        graph.require(heads)
        self.heads = heads
        self._graph = graph
        self._pass_rows = pass_rows

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """Return the outputs of each member for rows [n, F]; n may be zero."""
        outputs = self._graph.run_in_passes(rows, self.heads, self._pass_rows, axis=1)
        return dict(zip(self.heads, outputs, strict=True))

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Warm up with rows [n, F]."""
        self(rows[: self._pass_rows])
