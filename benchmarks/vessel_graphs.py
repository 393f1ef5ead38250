"""Time of the fused vessel graphs over one member's graph: ratios, so that a shared machine can check them.

    python -m benchmarks.vessel_graphs [--rounds 5]

One intra-op thread, medians of interleaved rounds, untrained weights (time does not depend on them). "loop"
is ten runs of one member's graph; "naive" is a member's graph with the operator Softplus.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks import harness
from benchmarks.inputs import opened
from models.executors.graph import Graph, Value
from models.executors.onnx import OnnxGraph
from models.tasks.vessel.artefact.ensemble import SAMPLED, Family, Scaling, TrainedEnsemble
from models.tasks.vessel.artefact.export import export
from models.tasks.vessel.data.table import FEATURES, NAMES
from models.tasks.vessel.networks import families

BATCHES = (1, 64, 1000)
FUSED: dict[str, tuple[Family, int, int]] = {
    "dnn-10": ("dnn", 10, 1),
    "symbolic-1": ("symbolic", 1, 1),
    "symbolic-10": ("symbolic", 10, 1),
    "mc_dropout-10x10": ("mc_dropout", 10, 10),
    "variational-10x10": ("variational", 10, 10),
}


class Naive(Graph):
    """Graph that writes softplus as the operator of that name."""

    def softplus(self, x: Value) -> Value:
        return self.op("Softplus", x)


def main() -> None:
    parser = harness.parser("vessel_graphs", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        single = untrained("dnn")
        written = {"dnn-1": export(single), "naive-1": export(single, Naive)}
        written |= {name: export(untrained(*what)) for name, what in FUSED.items()}
        graphs = {name: opened(content, Path(folder)) for name, content in written.items()}
    print(f"{'graph':20}" + "".join(f"{f'{batch} rows':>22}" for batch in BATCHES))
    times = {batch: measure(graphs, batch, rounds) for batch in BATCHES}
    for name in (*graphs, "loop of 10"):
        cells = []
        for batch in BATCHES:
            alone = times[batch]["dnn-1"]
            took = 10 * alone if name == "loop of 10" else times[batch][name]
            cells.append(f"{took * 1e3:9.3f} ms {took / alone:7.2f} x")
        print(f"{name:20}" + "".join(f"{cell:>22}" for cell in cells))
    share = times[1000]["dnn-10"] / (10 * times[1000]["naive-1"])
    print(f"dnn-10 at 1000 rows takes {share:.2f} of ten naive single-member graphs")


def untrained(family: Family, members: int = 1, samples: int = 1) -> TrainedEnsemble:
    """Return an ensemble with initial weights."""
    middle = np.array([(feature.lower + feature.upper) / 2 for feature in FEATURES])
    scaling = Scaling(middle, np.abs(middle) + 1, 18_000.0, 8_000.0)
    seeds = tuple(range(members))
    weights = families.export(families.build(family, seeds, scaling, NAMES))
    return TrainedEnsemble(family, scaling, weights, seeds, samples=samples if family in SAMPLED else 1)


def measure(graphs: dict[str, OnnxGraph], batch: int, rounds: int) -> dict[str, float]:
    """Return the median processor time of a run, s; the one intra-op thread is the calling one."""
    schema = np.array([[feature.lower, feature.upper] for feature in FEATURES], np.float32)
    rows = np.random.default_rng(0).uniform(schema[:, 0], schema[:, 1], (batch, len(FEATURES))).astype(np.float32)
    taken: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, graph in graphs.items():
            outputs = tuple(output for output in ("mean", "mvar", "varm") if output in graph.outputs)
            for _ in range(200 if batch == 1 else 20):
                start = time.thread_time()
                graph.run({"rows": rows}, outputs)
                taken[name].append(time.thread_time() - start)
    return {name: float(np.median(values)) for name, values in taken.items()}


if __name__ == "__main__":
    main()
