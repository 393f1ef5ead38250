"""Times the evaluator of CatBoost ensembles against the library's own, at full size and at a small one.

    python -m benchmarks.weather_trees [--trees 20000 300] [--models 10] [--seconds 20] [--only-rows 1 16 256 4096]

Ten RMSEWithUncertainty models of depth 8 on 123 features. Twenty thousand trees are sums of one model of 150, each
copy with a weight of its own: what is timed does not depend on the leaves' values. One thread on both sides, turn by
turn in one process. "ten predicts" is what released code does; "one Pool" makes the library's input once.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks import machine
from benchmarks.figures import Figure, table
from benchmarks.timing import interleaved
from models.executors.trees.ensemble import TreeEnsemble
from models.executors.trees.model import open_model
from models.executors.trees.native import NativeTrees
from models.schema import Feature, Schema
from models.tasks.weather.spec import TEMPERATURE

FEATURES = 123
DEPTH = 8
BASE_TREES = 150
ROWS = (1, 16, 256, 4096)
LEAST = {1: 5.0}
"""Wanted speed over ten native predicts by rows; 0.95 elsewhere: never slower, within noise."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, nargs="+", default=[20_000, 300])
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each number of rows")
    given = parser.parse_args(arguments)
    start = time.perf_counter()
    sys.stdout.write(f"{machine.line()}\n")
    figures = []
    for trees in given.trees:
        with tempfile.TemporaryDirectory() as folder:
            paths = synthesise(Path(folder), given.models, trees)
            figures += list(measure(paths, trees, given.rows, given.seconds))
        gc.collect()
    sys.stdout.write(f"{table(figures)}\n\n{time.perf_counter() - start:.0f} s, load {os.getloadavg()[0]:.1f}\n")
    return 0


def schema() -> Schema:
    return Schema.of(Feature(f"feature_{index}", "1", -10.0, 10.0, "", nullable=True) for index in range(FEATURES))


def inputs(count: int, seed: int) -> NDArray[np.float32]:
    """Gaussian rows [n, 123] of which a twentieth of the values is missing."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(count, FEATURES)).astype(np.float32)
    rows[draw.random(rows.shape) < 0.05] = np.nan
    return rows


def synthesise(folder: Path, models: int, trees: int) -> list[Path]:
    """Model files of so many trees each (within one base model)."""
    from catboost import CatBoost, Pool, sum_models

    rows = inputs(1000, 0)
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


def measure(paths: list[Path], trees: int, counts: list[int], seconds: float) -> Iterator[Figure]:
    """Load, memory, and ratios at each number of rows."""
    part = f"{len(paths)} models of {trees:,} trees"
    before, start = memory(), time.perf_counter()
    own = TreeEnsemble({"temperature": paths}, {"temperature": TEMPERATURE}, schema())
    yield Figure(part, "load", time.perf_counter() - start, "s", note=f"files of {size(paths):,.0f} MB{own.why_native}")
    start = time.perf_counter()
    own.measure(inputs(64, 2))
    yield Figure(part, "measure", time.perf_counter() - start, "s", note=f"crossover: {own.crossover or 'never'}")
    gc.collect()
    yield Figure(part, "memory", memory() - before, "MB", note=f"tables {own.nbytes / 1e6:,.0f} MB")
    before, start = memory(), time.perf_counter()
    models = [open_model(path, TEMPERATURE, schema()) for path in paths]
    yield Figure(part, "load of the library alone", time.perf_counter() - start, "s")
    native = NativeTrees({"temperature": models})
    native(inputs(1, 0))
    yield Figure(part, "memory of the library alone", memory() - before, "MB")

    def ten_predicts(rows: NDArray[np.float32]) -> object:
        return [model.native.predict(rows, prediction_type="RMSEWithUncertainty", thread_count=1) for model in models]

    for count in counts:
        rows = inputs(count, count)
        cases = {
            "own": lambda rows=rows: own(rows),
            "ten predicts": lambda rows=rows: ten_predicts(rows),
            "one Pool": lambda rows=rows: native(rows),
        }
        timed = interleaved(cases, seconds, warm_up=1)
        rowed = f"{part}, {count} row{'s' if count > 1 else ''}"
        spread = f"{timed['own'].p50 * 1e3:,.2f} ms, ±{timed['own'].spread():.0%}, n {len(timed['own'].seconds)}"
        yield Figure(
            rowed, "own evaluator", timed["own"].p50 * 1e6 / count / len(paths) / trees * 1e3, "ns/tree", note=spread
        )
        for name in ("ten predicts", "one Pool"):
            yield Figure(
                rowed,
                f"faster than {name}",
                timed[name].p50 / timed["own"].p50,
                "x",
                at_least=LEAST.get(count, 0.95) if trees > 1000 else 0.95,
                note=f"{timed[name].p50 * 1e3:,.2f} ms, ±{timed[name].spread():.0%}",
            )


def memory() -> float:
    """Resident, MB."""
    return psutil.Process().memory_info().rss / 1e6


def size(paths: list[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


if __name__ == "__main__":
    sys.exit(main())
