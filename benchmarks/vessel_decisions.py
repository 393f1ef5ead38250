"""What the default policy and the calibrated intervals do; writes docs/quality/vessel-decisions.md.

    python -m benchmarks.vessel_decisions [--generalisation-rows 2500000]

Uses the served path: the artefact's own graph, calibration and policy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks import machine, weights
from models import artefact as artefacts
from models.assessment.coverage import coverage
from models.assessment.errors import rmse
from models.executors.onnx import OnnxGraph
from models.profile import profile
from models.tasks.vessel.data.table import Table
from models.tasks.vessel.inference.scoring import predict
from models.tasks.vessel.spec import POWER
from services.policy.decision import Decision, Shift, choose, decide
from simulators.vessel.dataset import generalisation, simulate

ROOT = Path(__file__).resolve().parents[1]
LEVELS = (0.5, 0.9, 0.95)
RETENTION = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generalisation-rows", type=int, default=2_500_000)
    given = parser.parse_args()
    data = {name: table for name, table in simulate(1.0, 0).items() if name != "train"}
    data["generalisation"] = generalisation(given.generalisation_rows, 1)
    lines = [
        "# Vessel power: what the default policy does",
        "",
        "Written by `python -m benchmarks.vessel_decisions`. Simulator of this repository, seed 0, scale 1 "
        f"(generalisation set: {given.generalisation_rows} rows, seed 1). Threshold and interval multipliers were "
        f"calibrated on dev_in ({len(data['dev_in'])} rows) for a target retention of {RETENTION}; eval_in is the "
        "honest test of both, the others show what a shift does to them. In brackets: the first digits of the sha256 "
        f"of the weights. Recorded on {machine.line()}.",
        "",
    ]
    for directory in sorted((ROOT / "artefacts" / "vessel").iterdir()):
        if directory.is_dir():
            lines += _section(directory, data)
    (ROOT / "docs" / "quality" / "vessel-decisions.md").write_text("\n".join(lines))
    print("\n".join(lines))


def _section(directory: Path, data: dict[str, Table]) -> list[str]:
    artefact = artefacts.read(directory)
    name = profile(artefact.manifest.executors).name
    calibration = artefact.manifest.heads[POWER.name][name]
    ensemble = artefact.manifest.ensemble
    policy = choose(POWER, calibration, model=artefact.tag, profile=name, ensemble=ensemble, target_retention=RETENTION)
    graph = OnnxGraph(artefact.path(artefact.manifest.executor.file))
    trained = artefact.manifest.training_range
    assert trained is not None
    assert calibration.intervals is not None
    multipliers = dict(zip(calibration.intervals.levels, calibration.intervals.multipliers, strict=True))
    lines = [
        f"## {weights.named(artefact)}",
        "",
        f"Deferred above {policy.measure} = {policy.threshold:.0f} kW² (standard deviation "
        f"{policy.threshold**0.5:.0f} kW).",
        "",
        "| data | answered | RMSE answered, kW | RMSE deferred, kW | outside training range "
        "| knowledge above reference | coverage " + " | coverage ".join(f"{level:.0%}" for level in LEVELS) + " |",
        "|---" * (6 + len(LEVELS)) + "|",
    ]
    for name, table in data.items():
        predictive = predict(graph, table.features)
        outside = ((table.features < np.array(trained.lower)) | (table.features > np.array(trained.upper))).any(axis=1)
        verdict = decide(policy, POWER, predictive, np.where(outside, Shift.OUTSIDE_TRAINING_RANGE, 0).astype(np.uint8))
        answered = verdict.decisions == Decision.ANSWER
        unfamiliar = (verdict.shifts & Shift.KNOWLEDGE_ABOVE_REFERENCE) != 0
        covered = [coverage(table.power, predictive.mean, predictive.tvar, multipliers[level]) for level in LEVELS]
        cells = [
            f"{answered.mean():.1%}",
            f"{rmse(table.power[answered], predictive.mean[answered]):.0f}" if answered.any() else "-",
            f"{rmse(table.power[~answered], predictive.mean[~answered]):.0f}" if not answered.all() else "-",
            f"{outside.mean():.1%}",
            f"{unfamiliar.mean():.1%}" if ensemble else "-",
            *(f"{share:.1%}" for share in covered),
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(artefact.tag, name, flush=True)
    return [*lines, ""]


if __name__ == "__main__":
    main()
