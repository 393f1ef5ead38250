"""Cost of further members: one graph for all of them against one member's graph, in process."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Figure, interleaved
from benchmarks.inputs import ARTEFACTS, artefact, opened, rowed, rows
from models.executors.onnx import OnnxGraph
from models.tasks.vessel.artefact.export import export

MEMBERS = {"dnn-1": 1, "dnn-10": 10, "variational-10x10": 100}
"""Reference artefacts of one, ten and a hundred predictors."""


def measure(seconds: float) -> Iterator[Figure]:
    """Yield ratios to one member, for one row and for 1000."""
    with tempfile.TemporaryDirectory() as directory:
        graphs = {name: _graph(name, Path(directory)) for name in MEMBERS}
        for count in (1, 1000):
            cases = {name: partial(_run, graph, rows(artefact(), count)) for name, (graph, _) in graphs.items()}
            timed = interleaved(cases, seconds / 2)
            part = f"Ensembles in process, {rowed(count)}"
            single = timed["dnn-1"].p50
            yield Figure(part, "one member", single * 1e3, "ms p50", note=graphs["dnn-1"][1])
            for name, limit in (("dnn-10", 3.0), ("variational-10x10", 10.0)):
                yield Figure(
                    part,
                    f"{MEMBERS[name]} members over one",
                    timed[name].p50 / single,
                    "x",
                    at_most=limit if count == 1 else None,
                    note=f"{graphs[name][1]}, {timed[name].p50 * 1e3:.3f} ms, ±{timed[name].spread():.0%}",
                )


def _run(graph: OnnxGraph, features: NDArray[np.float32]) -> object:
    return graph.run({"rows": features}, tuple(name for name in ("mean", "mvar", "varm") if name in graph.outputs))


def _graph(name: str, directory: Path) -> tuple[OnnxGraph, str]:
    """Return the reference artefact's graph, or one of the same size with random weights."""
    if (ARTEFACTS / "vessel" / name / "manifest.json").exists():
        source = artefact("vessel", name)
        return OnnxGraph(source.path(source.manifest.executor.file)), name
    from benchmarks.vessel_graphs import untrained  # needs torch, which no other figure should pay for

    return opened(export(untrained("dnn", MEMBERS[name])), directory), "random weights"
