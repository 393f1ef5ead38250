"""Time of the evaluator of CatBoost ensembles against the library's own, at full size and at a small size.

    python -m benchmarks.weather_trees [--trees 20000 300] [--models 10] [--seconds 20] [--only-rows 1 16 256 4096]

Ten RMSEWithUncertainty models of depth 8 on 123 features. Twenty thousand trees are sums of one model of 150, each
copy with a weight of its own: times do not depend on the leaves' values. One thread on both sides, turn by turn in one
process. "ten predicts" is the method of the released code; "one Pool" makes the library's input once.
"""

import gc
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.harness import Figure, Timed, interleaved, table
from benchmarks.inputs import normal_rows
from models.executors.trees.ensemble import TreeEnsemble
from models.executors.trees.model import open_model
from models.executors.trees.native import NativeTrees
from models.schema import Feature, Schema
from models.tasks.weather.spec import TEMPERATURE

Result = TypeVar("Result")
FEATURES = 123
POOLED = 10_000_000
"""Rows times trees up to which making the library's input once may matter."""
DEPTH = 8
BASE_TREES = 150
ROWS = (1, 16, 256, 4096)
LEAST = {(20_000, 1): 5.0}
"""Required speed-up over ten native predicts by trees and rows; 0.95 elsewhere: no slower, within noise."""


def main(arguments: list[str] | None = None) -> int:
    parser = harness.parser("weather_trees", __doc__)
    parser.add_argument("--trees", type=int, nargs="+", default=[20_000, 300])
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of rows")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    harness.announce()
    for trees in options.trees:
        with tempfile.TemporaryDirectory() as folder:
            paths = apart(synthesise, Path(folder), options.models, trees)
            sys.stdout.write(f"{table(apart(measure, paths, trees, options.rows, options.seconds))}\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{time.perf_counter() - start:.0f} s, load {os.getloadavg()[0]:.1f}\n")
    return 0


def apart(task: Callable[..., Result], *arguments: object) -> Result:
    """Run in a fresh process, so that memory is that of the task alone."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(task, *arguments).result()


def schema() -> Schema:
    return Schema.of(Feature(f"feature_{index}", "1", -10.0, 10.0, "", nullable=True) for index in range(FEATURES))


def synthesise(folder: Path, models: int, trees: int) -> list[Path]:
    """Write and return model files of ``trees`` trees each (up to one base model)."""
    from catboost import CatBoost, Pool, sum_models

    rows = normal_rows(1000, FEATURES, 0)
    known = np.nan_to_num(rows)
    target = 2 * known[:, 0] + known[:, 1] ** 2 + np.random.default_rng(1).normal(size=len(rows))
    settings: dict[str, Any] = {"iterations": min(trees, BASE_TREES), "depth": DEPTH, "learning_rate": 0.1, "rsm": 0.1}
    quiet = {"thread_count": 1, "allow_writing_files": False, "verbose": False}
    base = CatBoost({"loss_function": "RMSEWithUncertainty"} | settings | quiet).fit(Pool(rows, target))
    copies = max(trees // BASE_TREES, 1)
    paths = [folder / f"seed{number + 1}.cbm" for number in range(models)]
    for number, path in enumerate(paths):
        weights = np.random.default_rng(number).uniform(0.5, 1.5, copies) / copies
        sum_models([base] * copies, weights=list(weights)).save_model(str(path))
    return paths


def measure(paths: list[Path], trees: int, counts: list[int], seconds: float) -> list[Figure]:
    """Measure load, memory, and ratios at each number of rows."""
    return list(_measured(paths, trees, counts, seconds))


def _measured(paths: list[Path], trees: int, counts: list[int], seconds: float) -> Iterator[Figure]:
    part = f"{len(paths)} models of {trees:,} trees"
    before, start = memory(), time.perf_counter()
    own = TreeEnsemble({"temperature": paths}, {"temperature": TEMPERATURE}, schema())
    yield Figure(part, "load", time.perf_counter() - start, "s", note=f"files of {size(paths):,.0f} MB{own.why_native}")
    start = time.perf_counter()
    own.measure(normal_rows(64, FEATURES, 2))
    yield Figure(part, "measure", time.perf_counter() - start, "s", note=f"crossover: {own.crossover or 'never'}")
    gc.collect()
    note = f"tables {own.nbytes / 1e6:,.0f} MB; while loading at most {peak() - before:,.0f} MB"
    yield Figure(part, "memory", memory() - before, "MB", note=note)
    before, start = memory(), time.perf_counter()
    models = [open_model(path, TEMPERATURE, schema()) for path in paths]
    yield Figure(part, "load of the library alone", time.perf_counter() - start, "s")
    native = NativeTrees({"temperature": models})
    native(normal_rows(1, FEATURES, 0))
    yield Figure(part, "memory of the library alone", memory() - before, "MB")

    def ten_predicts(rows: NDArray[np.float32]) -> object:
        return [model.native.predict(rows, prediction_type="RMSEWithUncertainty", thread_count=1) for model in models]

    for count in counts:
        rows = normal_rows(count, FEATURES, count)
        cases: dict[str, Callable[[], object]] = {
            "own": partial(own, rows),
            "ten predicts": partial(ten_predicts, rows),
        }
        if count * trees <= POOLED:
            cases["one Pool"] = partial(native, rows)
        timed = interleaved(cases, seconds, warm_up=1)
        mine = timed["own"]
        rowed = f"{part}, {count} row{'s' if count > 1 else ''}"
        each = mine.p50 * 1e9 / (count * len(paths) * trees)
        yield Figure(rowed, "own evaluator", each, "ns/tree", note=shown(mine))
        for name in [name for name in cases if name != "own"]:
            least = LEAST.get((trees, count), 0.95) if name == "ten predicts" else 0.95
            processor = timed[name].cpu_seconds / mine.cpu_seconds
            note = f"{shown(timed[name])}; processor time {processor:.2f} x"
            yield Figure(rowed, f"faster than {name}", timed[name].p50 / mine.p50, "x", at_least=least, note=note)


def shown(timed: Timed) -> str:
    return f"{timed.p50 * 1e3:,.2f} ms, ±{timed.spread():.0%}, n {len(timed.seconds)}"


def memory() -> float:
    """Return resident memory, MB."""
    return psutil.Process().memory_info().rss / 1e6


def peak() -> float:
    """Return peak resident memory, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def size(paths: list[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


if __name__ == "__main__":
    sys.exit(main())
