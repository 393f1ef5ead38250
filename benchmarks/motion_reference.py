"""Trains members of the motion task side by side, and builds the reference artefacts out of them.

    demur data motion simulate --out .demur/motion/data
    python -m benchmarks.motion_reference [--data DIR] [--work DIR] [--out DIR] [--workers 2] [--build bc dim]

The members of all families are those of ``benchmarks.motion_tables``; artefacts are built of the families after
``--build``. Examples, members (``<family>/member-SEED.pt``), the states of those in training and logs lie in the work
folder; what is finished there is not made again, and a killed run goes on from its last saved state.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.jobs import Tell, run, say
from models.tasks.motion import gathering, presets, train, workbench
from models.tasks.motion.grid import Grid
from models.tasks.motion.settings import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ("bc", "dim")


@dataclass(frozen=True)
class Train:
    """Trains one member."""

    family: str
    seed: int
    preset: str
    stored: Mapping[str, Path]
    folder: Path
    """Of the members of the family."""
    fingerprint: str

    @property
    def name(self) -> str:
        return f"{self.family}-{self.seed}"

    @property
    def done(self) -> bool:
        return (self.folder / f"member-{self.seed}.pt").exists()

    def __call__(self, tell: Tell) -> None:
        settings = presets.preset(self.preset, self.family)
        train.train_member(
            self.stored, self.folder, settings, self.fingerprint, self.seed, lambda done, line: tell(line)
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.motion_reference",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=ROOT / ".demur" / "motion" / "data", help="official layout")
    parser.add_argument(
        "--work", type=Path, default=ROOT / ".demur" / "motion" / "members", help="kept pieces and logs"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "artefacts" / "motion")
    parser.add_argument("--families", nargs="*", choices=FAMILIES, default=list(FAMILIES), help="to train")
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--preset", choices=list(presets.PRESETS), default="small")
    parser.add_argument("--workers", type=int, default=2, help="processes of one thread, side by side")
    parser.add_argument("--build", nargs="*", choices=FAMILIES, default=list(REFERENCE), help="families of artefacts")
    asked = parser.parse_args(arguments)
    grid = Grid(presets.preset(asked.preset, FAMILIES[0]).sizes.grid)
    stored = gathering.gathered(asked.data, asked.work / "examples", grid, _told("gathering"))
    fingerprint = train.fingerprint(stored, grid)
    seeds = train.seeds(asked.seed, asked.members)
    jobs = [
        Train(family, seed, asked.preset, stored, asked.work / family, fingerprint)
        for family in asked.families
        for seed in seeds
    ]
    run(jobs, asked.workers, asked.work / "logs")
    for family in asked.build:
        name = f"{family}-{asked.members}"
        found = train.built(
            train.assembled(family, asked.work / family, seed=asked.seed, members=asked.members, preset=asked.preset),
            stored,
            asked.out / name,
            provenance=workbench.provenance(asked.data),
            threads=asked.workers,
            progress=_told(name),
        )
        size = sum(path.stat().st_size for path in (asked.out / name).iterdir())
        sys.stdout.write(f"{found.tag} {size / 1e6:.2f} MB {found.manifest.quality}\n")


def _told(name: str) -> train.Progress:
    """A line at every tenth of the work."""
    tenths = [-1]

    def tell(done: float, what: str) -> None:
        if int(done * 10) > tenths[0]:
            tenths[0] = int(done * 10)
            say(f"{name}: {done:.0%} {what}")

    return tell


if __name__ == "__main__":
    main()
