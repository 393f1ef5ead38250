"""Builds the reference artefacts of the lesion task out of the members of ``benchmarks.lesion_tables``.

    python -m benchmarks.lesion_reference [--work DIR] [--out DIR] [--families unet unetr] [--threads 2]

Thresholds are tuned on dev_in, everything else is calibrated on in-domain scans that nothing has seen before; a few of
the evaluation's scans are judged for the model card. Takes minutes (U-Net) to half an hour (UNETR) on two cores.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.lesion_tables.plan import Plan
from models.building import Provenance
from models.tasks.lesion import build, official, training
from models.tasks.lesion.recipe import Recipe
from models.tasks.lesion.simulator.dataset import LICENCE, SIMULATOR
from models.tasks.lesion.train import assembled

ROOT = Path(__file__).resolve().parents[1]
JUDGED = {"eval_in": 8, "dev_out": 6, "eval_out": 6}
"""Scans of each split for the model card; `docs/quality/lesion.md` has all."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / ".demur" / "lesion-tables")
    parser.add_argument("--out", type=Path, default=ROOT / "artefacts" / "lesion")
    parser.add_argument("--families", nargs="+", default=["unet", "unetr"])
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    plan = Plan()
    known = {case.id: case for case in official.cases(asked.work / "data")}
    train, tune = ([known[entry.id] for entry in plan.entries(split)] for split in ("train", "dev_in"))
    judge = {
        split: _spread([known[e.id] for e in plan.entries(split) if e.id in known], n) for split, n in JUDGED.items()
    }
    for family in asked.families:
        settings = plan.settings(family)
        trained = [training.finished(asked.work / "members" / f"{family}-{seed}", seed) for seed in range(plan.members)]
        if None in trained:
            raise SystemExit(
                f"{asked.work} has not all members of {family}: run benchmarks.lesion_tables --parts train"
            )
        ensemble = assembled(
            family, [one for one in trained if one is not None], settings, seed=plan.seed, preset=plan.preset
        )
        name = f"{family}-{len(ensemble.graphs)}"
        found = build.build(
            ensemble,
            Recipe(),
            asked.out / name,
            train=train,
            tune=tune,
            calibration=[known[entry.id] for entry in plan.calibrating()],
            judge=judge,
            provenance=Provenance(f"{SIMULATOR}, seed {plan.seed}", LICENCE),
            threads=asked.threads,
            progress=lambda done, what: _tell(f"{name}: {done:.0%} {what}"),  # noqa: B023 - told at once
        )
        size = sum(path.stat().st_size for path in (asked.out / name).iterdir())
        sys.stdout.write(f"{found.tag} {size / 1e6:.2f} MB {found.manifest.quality}\n")


def _spread(cases: list[official.Case], count: int) -> list[official.Case]:
    """So many of them, evenly."""
    step = max(len(cases) // count, 1)
    return cases[::step][:count]


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
