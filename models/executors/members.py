"""Executors of ensemble members of any kind (rows in, members out), and those of graphs with one output per head."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.artefact import ArtefactError
from models.executors.onnx import OnnxGraph

Members = Mapping[str, NDArray[np.float32]]
"""Head name to the outputs of its members, float32 [M, n, K]: mean and variance (K = 2, in the head's unit and its
square) of a Gaussian head, class probabilities (K = C) of a categorical one."""


class MemberExecutor(Protocol):
    """Executor of all members over rows; several threads may call it at once."""

    @property
    def heads(self) -> tuple[str, ...]: ...

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """Return the outputs of each member for rows [n, F]."""
        ...

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Warm up with rows [n, F], and choose the fastest of several ways to compute, if any."""
        ...


@dataclass(frozen=True)
class Joined:
    """Several ensembles joined to one, with the members of all."""

    parts: Sequence[MemberExecutor]

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads that every part has."""
        return tuple(name for name in self.parts[0].heads if all(name in part.heads for part in self.parts[1:]))

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        said = [part(rows) for part in self.parts]
        return {name: np.concatenate([members[name] for members in said]) for name in self.heads}

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Measure each part."""
        for part in self.parts:
            part.measure(rows)


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
        missing = [name for name in heads if name not in graph.outputs]
        if missing:
            raise ArtefactError(f"the graph has no output {missing[0]!r}, it has {', '.join(graph.outputs)}")
        self.heads = heads
        self._graph = graph
        self._pass_rows = pass_rows

    def __call__(self, rows: NDArray[np.float32]) -> Members:
        """Return the outputs of each member for rows [n, F]; n may be zero."""
        passes = max(1, -(-len(rows) // self._pass_rows))
        if passes == 1:
            return dict(zip(self.heads, self._graph.run({"rows": rows}, self.heads), strict=True))
        parts = [self._graph.run({"rows": part}, self.heads) for part in np.array_split(rows, passes)]
        return {name: np.concatenate(column, axis=1) for name, *column in zip(self.heads, *parts, strict=True)}

    def measure(self, rows: NDArray[np.float32]) -> None:
        """Warm up with rows [n, F]."""
        self(rows[: self._pass_rows])
