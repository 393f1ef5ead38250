"""Builds the reference artefacts of the motion task out of the members of ``benchmarks.motion_tables``.

    python -m benchmarks.motion_reference [--work DIR] [--out DIR] [--families bc dim] [--threads 2]

Calibrated on in-domain development scenes that chose no weights; the other requests are judged for the model card.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.motion_tables.plan import Plan
from benchmarks.motion_tables.train import ensemble
from models import provenance
from models.executors.device import Device
from models.tasks.motion.data import gathering
from models.tasks.motion.inference.grid import OFFICIAL
from models.tasks.motion.training import train

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / ".demur" / "motion-tables")
    parser.add_argument("--out", type=Path, default=ROOT / "artefacts" / "motion")
    parser.add_argument("--families", nargs="+", default=["bc", "dim"])
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    plan = Plan()
    data = asked.work / "data"
    stored = gathering.gathered(data, asked.work / "examples", OFFICIAL)
    for family in asked.families:
        one = ensemble(plan, family, stored, asked.work / "members")
        name = f"{family}-{len(one)}"
        found = train.built(
            one,
            stored,
            asked.out / name,
            provenance=provenance.read(data),
            device=Device(threads=asked.threads),
            progress=lambda done, what: _tell(f"{name}: {done:.0%} {what}"),  # noqa: B023 - told at once
        )
        size = sum(path.stat().st_size for path in (asked.out / name).iterdir())
        sys.stdout.write(f"{found.tag} {size / 1e6:.2f} MB {found.manifest.quality}\n")


def _tell(line: str) -> None:
    sys.stderr.write(f"\r{line}\x1b[K")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
