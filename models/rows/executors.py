"""Row executors of an artefact: from rows to the statistics of its heads, without and with the outputs of members.

An artefact that declares its own heads has one graph that ends in statistics (``models.executors.statistics``). With
trees of CatBoost, the graph comes after them: it reads ``HEAD.raw`` [M, n, K] beside ``rows``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.artefact import Artefact
from models.executors.device import CPU, Device
from models.executors.golden import Replayed
from models.executors.members import MemberExecutor
from models.executors.onnx import OnnxGraph
from models.executors.pace import Pace
from models.executors.reduced import MOST_ROWS, QUANTUM_SECONDS, Reduced
from models.executors.statistics import Array, Arrays, Statistics
from models.executors.trees.library import InProcess, Library
from models.executors.trees.library_rows import LibraryTrees
from models.head import Head
from models.predictive import Predictive
from models.rows import members as of_rows

Reading = Callable[[Arrays], tuple[Mapping[str, Predictive], Mapping[str, Arrays]]]


class MeasuredRows(Protocol):
    """Row executor that measures its speed."""

    quantum_rows: int
    """Maximum number of rows of one pass."""

    def seconds(self, rows: int) -> float:
        """Return the expected duration of a pass, in seconds."""
        ...

    def __call__(self, rows: Array) -> Arrays:
        """Return the output arrays, whose last axis is the rows."""
        ...

    def measure(self, rows: Array) -> None:
        """Warm up and measure with rows [n, F]."""
        ...


@dataclass(frozen=True)
class RowExecutors:
    """Executors of one artefact of rows."""

    heads: tuple[Head, ...]
    plain: MeasuredRows
    with_members: MeasuredRows
    """Executor of the same arrays, followed by arrays per member."""
    read: Reading
    """Function that interprets the arrays of either executor."""
    member_values: int
    """Number of values per row in all arrays per member."""
    replayed: Replayed
    """Executor that replays the golden inputs."""
    prepare: Callable[[Array], None] = lambda rows: None
    """Function that is called with the golden rows before they are replayed, e.g. to choose among kernels."""


class GraphStatistics:
    """Executor from rows [n, F] to statistics by a graph, after trees if there are any; thread-safe."""

    def __init__(self, graph: OnnxGraph, statistics: Statistics, trees: MemberExecutor | None = None) -> None:
        """
        Raises:
            ArtefactError: the graph lacks one of the statistics.
        """
        graph.require(statistics.outputs)
        self.outputs = statistics.outputs
        self.quantum_rows = MOST_ROWS
        """Number of rows of one quantum; ``measure`` reduces it if a row takes long."""
        self._graph = graph
        self._trees = trees
        self._pace = Pace()

    def __call__(self, rows: Array) -> Arrays:
        return tuple(self._graph.run(self._inputs(rows), self.outputs))

    def seconds(self, rows: int) -> float:
        """Return the expected duration for a number of rows."""
        return self._pace.seconds(rows)

    def measure(self, rows: Array, many: int = 64) -> None:
        """Warm up with rows [n, F], fit the model of the duration, and bound the quantum."""
        self._pace.measure(self, rows, many, repeats=5)
        self.quantum_rows = self._pace.rows_within(QUANTUM_SECONDS, MOST_ROWS)

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[Array]:
        """Return named outputs of ``inputs["rows"]``, as a graph returns them (``models.executors.golden``)."""
        return self._graph.run(self._inputs(np.asarray(inputs["rows"], np.float32)), outputs)

    def _inputs(self, rows: Array) -> dict[str, NDArray[Any]]:
        if self._trees is None:
            return {"rows": rows}
        raw = {f"{head}.raw": array for head, array in self._trees(rows).items()}
        return raw | ({"rows": rows} if "rows" in self._graph.inputs else {})


def of_members(members: MemberExecutor, heads: Sequence[Head], predictions: int) -> RowExecutors:
    """Return executors that reduce the outputs of members.

    Args:
        predictions: number of members.
    """
    plain = Reduced(members, heads, ensemble=predictions > 1)
    return RowExecutors(
        heads=tuple(heads),
        plain=plain,
        with_members=Reduced(members, heads, ensemble=predictions > 1, members=True),
        read=plain.read,
        member_values=member_values(heads, predictions),
        replayed=plain,
        prepare=members.measure,
    )


def of_artefact(
    artefact: Artefact, *, device: Device = CPU, library: Callable[[], Library] = InProcess
) -> RowExecutors:
    """Return the executors of an artefact that declares its own heads.

    Args:
        library: opens the CatBoost library that tables of trees are compared with.

    Raises:
        ArtefactError: a file is damaged, or the graph lacks a statistic.
        ProviderUnavailable: CUDA was requested and is not available.
    """
    manifest = artefact.manifest
    heads, executor = manifest.outputs, manifest.executor
    predictions = manifest.members * manifest.samples
    trees: MemberExecutor | None = None
    if executor.kind == "catboost":
        if not executor.finish:
            return of_members(of_rows.members(artefact, heads, device=device, library=library), heads, predictions)
        files = {name: [artefact.path(file) for file in files] for name, files in executor.models.items()}
        trees = LibraryTrees(files, artefact.schema, virtual=executor.virtual, threads=device.threads)
    on_cpu = Device(threads=device.threads) if executor.layout == "trees" else device
    graph = OnnxGraph(artefact.path(executor.finish or executor.file), device=on_cpu)

    def statistics(members: bool) -> Statistics:
        return Statistics.of(heads, ensemble=manifest.ensemble, members=members, graph=graph.outputs)

    plain = GraphStatistics(graph, statistics(False), trees)
    return RowExecutors(
        heads=heads,
        plain=plain,
        with_members=GraphStatistics(graph, statistics(True), trees),
        read=statistics(False).read,
        member_values=member_values(heads, predictions),
        replayed=plain,
    )


def member_values(heads: Sequence[Head], predictions: int) -> int:
    """Return the number of values per row in the arrays of all members."""
    return sum(2 if head.classes is None else head.classes for head in heads) * predictions
