"""Simulated scans: drawn once, kept in the official layout, and read as networks take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.jobs import Tell
from models.tasks.lesion.artefact.recipe import Recipe
from models.tasks.lesion.data import examples
from models.tasks.lesion.data.official import NAMES, Case
from models.tasks.lesion.inference.preparation import prepare
from simulators.lesion import dataset, scan, template
from simulators.lesion.cohort import Entry
from simulators.lesion.sites import SITES

Mask = NDArray[np.bool_]

RECIPE = Recipe()
CHUNK = 12
"""Scans of one job."""


@dataclass(frozen=True)
class Scan:
    """A scan of 1 mm voxels, masks [x, y, z]."""

    image: NDArray[np.float32]
    """Prepared as when served, [1, x, y, z]."""
    truth: Mask
    brain: Mask


def case(root: Path, entry: Entry) -> Case:
    """Where a scan's files are."""
    folder = root / entry.site / entry.split
    flair, brain, truth = (folder / kind / NAMES[kind].format(id=entry.id) for kind in ("flair", "fg_mask", "gt"))
    return Case(entry.id, entry.site, entry.split, flair, None, truth, brain)


def load(root: Path, entry: Entry) -> Scan:
    """
    Raises:
        BadFile: a file is missing or not of this scan.
    """
    files = case(root, entry)
    found, lesions = examples.read(files, RECIPE.channels)
    prepared = prepare(found, RECIPE)
    if prepared.resampled:
        raise ValueError(f"{files.flair} is not of 1 mm voxels: simulated scans are")
    return Scan(prepared.image, prepared.grid.turned(lesions), prepared.brain)


@dataclass(frozen=True)
class Simulate:
    """Draws some scans; those that are there stay."""

    name: str
    root: Path
    seed: int
    entries: tuple[Entry, ...]

    @property
    def done(self) -> bool:
        return all(there(self.root, entry) for entry in self.entries)

    def __call__(self, tell: Tell) -> None:
        brain = template.load()
        left = [entry for entry in self.entries if not there(self.root, entry)]
        for number, entry in enumerate(left, start=1):
            drawn = scan.draw(entry.rng(self.seed), brain, SITES[entry.site])
            write(case(self.root, entry), drawn.flair, drawn.brain, drawn.truth)
            tell(f"{number}/{len(left)}")


def write(files: Case, flair: NDArray[np.float32], brain: Mask, truth: Mask) -> None:
    """A scan without T1; the truth comes last."""
    assert files.brain is not None
    assert files.truth is not None
    dataset.write(files.flair, flair)
    dataset.write(files.brain, brain)
    dataset.write(files.truth, truth)


def there(root: Path, entry: Entry) -> bool:
    """Whether a scan is complete."""
    truth = case(root, entry).truth
    return truth is not None and truth.exists()


def simulations(root: Path, seed: int, entries: Sequence[Entry]) -> list[Simulate]:
    """Jobs that draw these scans, not too many: each reads the template first."""
    parts = [tuple(entries[at : at + CHUNK]) for at in range(0, len(entries), CHUNK)]
    return [Simulate(f"simulate-{at}-{part[0].id}", root, seed, part) for at, part in enumerate(parts)]
