"""Members of the tables: trained one by one, kept, and put together as ensembles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.jobs import Tell
from benchmarks.motion_tables.plan import Plan
from models.tasks.motion.artefact.ensemble import Ensemble
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.training import shares, train
from models.tasks.motion.training.presets import Settings
from models.tasks.motion.training.shares import DEV, TRAIN
from models.training.checkpoints import finished


@dataclass(frozen=True)
class Training:
    """One member."""

    stored: Mapping[str, Path]
    """Split to where its examples lie."""
    folder: Path
    """Of the family's members."""
    settings: Settings
    seed: int

    @property
    def name(self) -> str:
        return f"{self.folder.name}-{self.seed}"

    @property
    def done(self) -> bool:
        return finished(self.folder, self.seed) is not None

    def __call__(self, tell: Tell) -> None:
        grid = Grid(self.settings.sizes.grid)
        parts = (
            shares.training(Examples.load(self.stored[TRAIN], grid)),
            shares.choosing(Examples.load(self.stored[DEV], grid)),
        )
        fingerprint = " ".join(part.fingerprint for part in parts)
        train.train_member(
            self.stored, self.folder, self.settings, fingerprint, self.seed, lambda share, what: tell(what)
        )


def trainings(plan: Plan, stored: Mapping[str, Path], folder: Path) -> list[Training]:
    """All members: the first of each family first, so that something of every row can be seen early."""
    return [
        Training(stored, folder / family, settings, seed)
        for seed in plan.seeds
        for family, settings in plan.settings().items()
    ]


def ensemble(plan: Plan, family: str, stored: Mapping[str, Path], folder: Path) -> Ensemble:
    """The trained members of a family.

    Raises:
        FileNotFoundError: some are not trained yet.
    """
    settings = plan.settings()[family]
    missing = [seed for seed in plan.seeds if finished(folder / family, seed) is None]
    if missing:
        raise FileNotFoundError(f"{folder / family} has no member of seed {missing[0]}: run the part train first")
    requests = len(shares.training(Examples.load(stored[TRAIN], Grid(settings.sizes.grid))))
    return train.assembled(
        family,
        folder / family,
        settings,
        seeds=plan.seeds,
        preset=plan.preset,
        seed=plan.seed,
        requests=requests,
    )
