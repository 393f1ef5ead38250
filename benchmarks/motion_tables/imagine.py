"""Lets the ensembles of the tables imagine: each family once for each split, by the graph that would serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.jobs import Tell
from benchmarks.motion_tables.imagined import Imagined
from benchmarks.motion_tables.plan import Plan
from benchmarks.motion_tables.train import ensemble
from models.tasks.motion import build
from models.tasks.motion.examples import Examples
from models.tasks.motion.grid import Grid
from models.tasks.motion.recipe import Recipe

BATCH = 16


@dataclass(frozen=True)
class Imagining:
    """One family on one split."""

    plan: Plan
    family: str
    split: str
    stored: Mapping[str, Path]
    members: Path
    """Folder of all families' members."""
    target: Path

    @property
    def name(self) -> str:
        return f"imagine-{self.family}-{self.split}"

    @property
    def done(self) -> bool:
        return self.target.exists()

    def __call__(self, tell: Tell) -> None:
        recipe = Recipe()
        examples = Examples.load(self.stored[self.split], Grid(recipe.size))
        planners = build.opened(ensemble(self.plan, self.family, self.stored, self.members), recipe)
        found = []
        for start in range(0, len(examples), BATCH):
            found.append(planners(examples.drawn(slice(start, start + BATCH))))
            tell(f"{start + BATCH} of {len(examples)} requests")
        plans, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        self.target.parent.mkdir(parents=True, exist_ok=True)
        Imagined(plans, scores, examples.futures, examples.shifted, examples.tags["track"]).save(self.target)
