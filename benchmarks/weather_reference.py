"""Trains and builds the seven reference artefacts of the weather task from the simulator.

    python -m benchmarks.weather_reference [--scale 0.1] [--work DIR] [--out DIR]

Takes an hour on two cores, most of it for networks; finished members lie in the work folder. Networks are those of
`benchmarks.weather_tables`, if the work folder is the same.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks.weather_tables.runs import Plan, Work
from models.building import Labelled, Provenance
from models.tasks.weather import boosting, build
from models.tasks.weather.ensemble import Ensemble, join
from models.tasks.weather.features import SCHEMA
from models.tasks.weather.simulator.dataset import simulate
from models.tasks.weather.spec import HEADS
from models.tasks.weather.training import labelled

ROOT = Path(__file__).resolve().parents[1]
SEED = 0
JUDGED_STEP = 5
"""Every fifth evaluation row stands for the quality table."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--work", type=Path, default=ROOT / ".demur" / "weather-tables")
    parser.add_argument("--out", type=Path, default=ROOT / "artefacts" / "weather")
    asked = parser.parse_args()
    data = {name: labelled(rows) for name, rows in simulate(asked.scale, SEED, extended=True).items()}
    judged = {name: data[name] for name in ("train", "dev_in", "dev_out")}
    judged |= {name: _thinned(data[name]) for name in ("eval_in", "eval_out")}
    source = Provenance(
        f"simulated by models/tasks/weather/simulator of Demur, seed {SEED}, scale {asked.scale:g}", "CC0-1.0"
    )
    for name, ensemble in ensembles(Work(asked.work, Plan()), data).items():
        found = build.build(
            ensemble, judged, asked.out / name, schema=SCHEMA, provenance=source, progress=_teller(name)
        )
        size = sum(path.stat().st_size for path in (asked.out / name).iterdir())
        sys.stdout.write(f"{found.tag} {size / 1e6:.2f} MB {found.manifest.quality}\n")
        sys.stdout.flush()


def ensembles(work: Work, data: dict[str, Labelled]) -> dict[str, Ensemble]:
    """Folder name to ensemble; single models are the first members."""
    canonical = {"train": data["train"], "dev_in": data["dev_in"]}
    trees = _boosted(work, "reference", canonical, 10)
    deep, dropout = work.networks(data)
    return {
        "catboost-10": trees,
        "catboost-1": first(trees),
        "catboost_virtual-1x10": _boosted(work, "reference-virtual", canonical, 1, virtual=True),
        "ft_transformer-5": deep,
        "ft_transformer-1": work.one_network(data),
        "ft_mcdp-1x10": dropout,
        "combined-15": join(trees, deep),
    }


def first(trees: Ensemble) -> Ensemble:
    """The first member alone."""
    (executor,) = trees.executors
    models = {head: names[:1] for head, names in executor.models.items()}
    files = {name: trees.files[name] for names in models.values() for name in names}
    alone = msgspec.structs.replace(executor, models=models)
    return replace(trees, members=1, executors=(alone,), files=files, seeds=trees.seeds[:1])


def _boosted(work: Work, name: str, data: dict[str, Labelled], members: int, *, virtual: bool = False) -> Ensemble:
    return boosting.train(
        data,
        HEADS,
        SCHEMA,
        work.folder / f"trees-{name}",
        members=members,
        settings=replace(boosting.FAST, threads=1),
        virtual=virtual,
    )


def _thinned(table: Labelled) -> Labelled:
    return Labelled(
        table.features[::JUDGED_STEP], {head: labels[::JUDGED_STEP] for head, labels in table.labels.items()}
    )


def _teller(name: str) -> Callable[[float, str], None]:
    def tell(done: float, what: str) -> None:
        sys.stderr.write(f"\r{name}: {what} {done:.0%}   ")

    return tell


if __name__ == "__main__":
    main()
