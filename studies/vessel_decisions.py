"""Decisions of the default policy and coverage of calibrated intervals; writes docs/quality/vessel-decisions.md.

    python -m studies.vessel_decisions [--generalisation-rows 2500000]

Uses the served path: the artefact's own graph, calibration and policy.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import machine
from models import artefact as artefacts
from models.artefact import Artefact
from models.assessment.coverage import coverage
from models.assessment.errors import rmse
from models.executors.onnx import OnnxGraph
from models.manifest import numeric_profile
from models.tasks.vessel.data.table import Table
from models.tasks.vessel.inference.scoring import predict
from models.tasks.vessel.spec import POWER
from services.policy.decision import Decision, Policy, Shift, decide
from simulators.vessel.dataset import generalisation, simulate
from studies import pages
from studies.served import RETENTION, default_policy

LEVELS = (0.5, 0.9, 0.95)


def main() -> None:
    parser = pages.parser("vessel_decisions", __doc__, out=pages.QUALITY)
    parser.add_argument("--generalisation-rows", type=int, default=2_500_000)
    options = parser.parse_args()
    data = {name: table for name, table in simulate(1.0, 0).items() if name != "train"}
    data["generalisation"] = generalisation(options.generalisation_rows, 1)
    text = pages.document(
        "# Vessel power: what the default policy does",
        "Written by `python -m studies.vessel_decisions`. Simulator of this repository, seed 0, scale 1 "
        f"(generalisation set: {options.generalisation_rows} rows, seed 1). Threshold and interval multipliers were "
        f"calibrated on dev_in ({len(data['dev_in'])} rows) for a target retention of {RETENTION}; eval_in is the "
        "honest test of both, the others show what a shift does to them. In brackets: the first digits of the sha256 "
        f"of the weights. Recorded on {machine.line()}.",
        *(block for directory in pages.reference_artefacts("vessel") for block in _section(directory, data)),
    )
    (options.out / "vessel-decisions.md").write_text(f"{text}\n")
    print(text)


def _section(directory: Path, data: dict[str, Table]) -> list[str]:
    artefact = artefacts.read(directory)
    policy = default_policy(artefact, POWER)
    return [
        f"## {pages.named(artefact)}",
        f"Deferred above {policy.measure} = {policy.threshold:.0f} kW² (standard deviation "
        f"{policy.threshold**0.5:.0f} kW).",
        pages.table(
            (
                *("data", "answered", "RMSE answered, kW", "RMSE deferred, kW", "outside training range"),
                *("knowledge above reference", *(f"coverage {level:.0%}" for level in LEVELS)),
            ),
            _rows(artefact, policy, data),
        ),
    ]


def _rows(artefact: Artefact, policy: Policy, data: dict[str, Table]) -> Iterator[tuple[str, ...]]:
    graph = OnnxGraph(artefact.path(artefact.manifest.executor.file))
    trained = artefact.manifest.training_range
    intervals = artefact.manifest.heads[POWER.name][numeric_profile(artefact.manifest.executors)].intervals
    assert trained is not None
    assert intervals is not None
    multipliers = dict(zip(intervals.levels, intervals.multipliers, strict=True))
    for name, table in data.items():
        predictive = predict(graph, table.features)
        outside = ((table.features < np.array(trained.lower)) | (table.features > np.array(trained.upper))).any(axis=1)
        verdict = decide(policy, POWER, predictive, np.where(outside, Shift.OUTSIDE_TRAINING_RANGE, 0).astype(np.uint8))
        answered = verdict.decisions == Decision.ANSWER
        unfamiliar = (verdict.shifts & Shift.KNOWLEDGE_ABOVE_REFERENCE) != 0
        covered = [coverage(table.power, predictive.mean, predictive.tvar, multipliers[level]) for level in LEVELS]
        print(artefact.tag, name, flush=True)
        yield (
            name,
            f"{answered.mean():.1%}",
            *(
                f"{rmse(table.power[mask], predictive.mean[mask]):.0f}" if mask.any() else "-"
                for mask in (answered, ~answered)
            ),
            f"{outside.mean():.1%}",
            f"{unfamiliar.mean():.1%}" if artefact.manifest.ensemble else "-",
            *(f"{share:.1%}" for share in covered),
        )


if __name__ == "__main__":
    main()
