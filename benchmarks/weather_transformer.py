"""Share of the machine's matrix multiplication rate that FT-Transformer ensembles reach on one thread.

    python -m benchmarks.weather_transformer [--seconds 4]

A case is rows passed through ``GraphMembers`` as they are served; "loop" is one graph a member, run in turn. Rates
count only the multiplications and additions of the matrix products that the graph computes. The reference is the
faster of ONNX Runtime and torch at 1024 x 1024 x 1024, measured turn by turn with the cases. Times are the thread's
processor time. Weights are untrained (time does not depend on them).
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import Figure, interleaved
from benchmarks.inputs import normal_rows, opened
from models.executors.graph import Graph
from models.executors.graph_members import GraphMembers
from models.tasks.weather.spec import CLASSES
from models.tasks.weather.transformer import network
from models.tasks.weather.transformer.ensemble import TrainedEnsemble
from models.tasks.weather.transformer.export import export
from models.tasks.weather.transformer.scaling import Scaling
from models.tasks.weather.transformer.settings import PAPER, SMALL, Sizes

FEATURES = 123
BATCHES = (1, 16, 64, 256)
CASES = {"paper size, 2 members": (PAPER, 2), "small, 10 members": (SMALL, 10)}
SIDE = 1024
"""Side of the square matrices whose product is the reference."""


def main(arguments: list[str] | None = None) -> int:
    options = harness.parser("weather_transformer", __doc__, seconds=4).parse_args(arguments)
    torch.set_num_threads(1)
    harness.announce()
    with tempfile.TemporaryDirectory() as folder:
        return harness.report(measure(Path(folder), options.seconds))


def measure(folder: Path, seconds: float) -> Iterator[Figure]:
    """Yield the share of the reference rate, and the gain from fusing, for each size and number of rows."""
    products = reference(folder)
    for name, (sizes, members) in CASES.items():
        ensemble = untrained(sizes, members)
        alone = [ensemble.select(slice(index, index + 1)) for index in range(members)]
        fused, sampled, *loop = (
            GraphMembers(opened(export(model), folder), model.heads) for model in (ensemble, alone[0].sampled(), *alone)
        )
        for count in BATCHES:
            batch = rows(count)
            cases = {"fused": partial(fused, batch), "loop": partial(in_turn, loop, batch), **products}
            if sizes is SMALL:
                cases["sampled"] = partial(sampled, batch)
            timed = interleaved(cases, seconds, warm_up=1, clock=time.thread_time)
            part = f"FT-Transformer of {name}, {count} rows"
            peak = max(2 * SIDE**3 / timed[product].p50 for product in products)
            took = timed["fused"].p50
            rate = operations(sizes) * members * count / took
            yield Figure(
                part,
                "one thread's rate over sgemm",
                100 * rate / peak,
                "%",
                at_least=50.0 if sizes is PAPER else None,
                note=f"{rate / 1e9:.0f} of {peak / 1e9:.0f} GFLOP/s, {took / count * 1e3:.2f} ms/row, "
                f"±{timed['fused'].spread():.0%}",
            )
            yield Figure(
                part, "fused over a loop", took / timed["loop"].p50, "x", note=f"±{timed['loop'].spread():.0%}"
            )
            if "sampled" in timed:
                single = timed["loop"].p50 / members
                yield Figure(part, "10 frozen masks over one member", timed["sampled"].p50 / single, "x")


def operations(sizes: Sizes, features: int = FEATURES) -> int:
    """Return the number of multiplications and additions in the matrix products of one row and member, as exported."""
    width, hidden, tokens = sizes.width, sizes.hidden, features + 1
    block = tokens * (4 * width**2 + 2 * tokens * width + 3 * width * hidden)
    pooled = 4 * width**2 + 2 * tokens * sizes.heads * width + 3 * width * hidden
    return 2 * ((sizes.blocks - 1) * block + pooled + width * (2 + CLASSES))


def reference(folder: Path) -> dict[str, Callable[[], object]]:
    """Return products of square matrices by two libraries, one thread each."""
    left, right = np.random.default_rng(0).normal(size=(2, SIDE, SIDE)).astype(np.float32)
    graph = Graph("product")
    graph.output("product", graph.input("rows", ("N", SIDE)) @ right, ("N", SIDE))
    session = opened(graph, folder)
    return {
        "onnxruntime": partial(session.run, {"rows": left}, ("product",)),
        "torch": partial(torch.mm, torch.from_numpy(left), torch.from_numpy(right)),
    }


def untrained(sizes: Sizes, members: int) -> TrainedEnsemble:
    """Return an ensemble with initial weights, for the default schema's number of features."""
    scaling = Scaling(
        np.zeros(FEATURES, np.float32), np.ones(FEATURES, np.float32), np.empty((0, FEATURES), np.float32)
    )
    parts = [network.export(network.Network(sizes, scaling, classes=CLASSES)) for _ in range(members)]
    weights = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    return TrainedEnsemble("ft_transformer", sizes, scaling, weights, tuple(range(members)))


def in_turn(members: list[GraphMembers], batch: NDArray[np.float32]) -> None:
    for member in members:
        member(batch)


def rows(count: int) -> NDArray[np.float32]:
    """Return rows of the default schema's number of features."""
    return normal_rows(count, FEATURES, count)


if __name__ == "__main__":
    sys.exit(main())
