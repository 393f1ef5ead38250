"""Plans and scores of the tables' ensembles: each family once for each split, by the graph that would serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.jobs import Tell
from benchmarks.motion_tables.imagined import Imagined
from benchmarks.motion_tables.plan import Plan
from benchmarks.motion_tables.train import ensemble
from models.artefact import read
from models.tasks.motion.artefact import build
from models.tasks.motion.artefact.recipe import Recipe
from models.tasks.motion.data.examples import Examples
from models.tasks.motion.inference import members as members_of
from models.tasks.motion.inference.grid import Grid
from models.tasks.motion.inference.members import Members
from models.tasks.motion.training import shares
from models.tasks.motion.training.shares import DEV

BATCH = 16


@dataclass(frozen=True)
class Imagining:
    """Plans and scores of one family on one split; of dev without the scenes that chose weights."""

    plan: Plan
    family: str
    split: str
    stored: Mapping[str, Path]
    members: Path
    """Folder of all families' members."""
    artefact: Path | None
    """Artefact that is judged in place of trained members."""
    target: Path

    @property
    def name(self) -> str:
        return f"imagine-{self.family}-{self.split}"

    @property
    def done(self) -> bool:
        return self.target.exists()

    def __call__(self, tell: Tell) -> None:
        recipe = Recipe()
        examples = judged(self.stored, self.split)
        planners = self._planners(recipe)
        found = []
        for start in range(0, len(examples), BATCH):
            found.append(planners(examples.drawn(slice(start, start + BATCH))))
            tell(f"{start + BATCH} of {len(examples)} requests")
        plans, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self.target.parent.mkdir(parents=True, exist_ok=True)
        Imagined(plans, scores, examples.futures, examples.shifted, examples.tags["track"]).save(self.target)

    def _planners(self, recipe: Recipe) -> Members:
        if self.artefact is not None:
            return members_of.members(read(self.artefact, "motion"))
        return build.opened(ensemble(self.plan, self.family, self.stored, self.members), recipe)


def judged(stored: Mapping[str, Path], split: str) -> Examples:
    """Return the requests of a split that the tables judge.

    Args:
        stored: split to where its examples lie.
    """
    examples = Examples.load(stored[split], Grid(Recipe().size))
    return shares.unseen(examples) if split == DEV else examples
