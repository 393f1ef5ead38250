"""Simulated scans: drawn once, kept in the official layout, and read as networks take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.lesion_tables.jobs import Tell
from models.tasks.lesion import volumes
from models.tasks.lesion.simulator import dataset, scan, template
from models.tasks.lesion.simulator.cohort import Entry
from models.tasks.lesion.simulator.sites import SITES

Mask = NDArray[np.bool_]

CHUNK = 12
"""Scans of one job."""


@dataclass(frozen=True)
class Scan:
    """A scan of 1 mm voxels, [x, y, z]."""

    image: NDArray[np.float32]
    """FLAIR, normalised: z-scores over nonzero voxels, zeros stay zero."""
    truth: Mask
    brain: Mask


def paths(root: Path, entry: Entry) -> tuple[Path, Path, Path]:
    """FLAIR, brain mask and truth of a scan."""
    folder, one = root / entry.site / entry.split, entry.id
    return (
        folder / "flair" / f"{one}_FLAIR_isovox.nii.gz",
        folder / "fg_mask" / f"{one}_isovox_fg_mask.nii.gz",
        folder / "gt" / f"{one}_gt_isovox.nii.gz",
    )


def load(root: Path, entry: Entry) -> Scan:
    """
    Raises:
        BadFile: a file is missing or not of this scan.
    """
    flair, brain, truth = paths(root, entry)
    volume, lesions = volumes.mask(truth)
    _, inside = volumes.same_shape(volumes.mask, brain, volume)
    image = volumes.read(flair)
    volumes.check_shape(image, volume)
    return Scan(normalised(np.asarray(image.values, np.float32)), lesions, inside)


def normalised(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """z-scores over nonzero voxels, zeros stay zero."""
    inside = values != 0
    known = values[inside].astype(np.float64)
    found = np.zeros_like(values)
    found[inside] = (known - known.mean()) / max(known.std(), 1e-12)
    return found


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
            files = zip(paths(self.root, entry), (drawn.flair, drawn.brain, drawn.truth), strict=True)
            for path, values in files:
                dataset.write(path, values)
            tell(f"{number}/{len(left)}")


def there(root: Path, entry: Entry) -> bool:
    """Whether a scan is drawn; the truth is written last."""
    return paths(root, entry)[-1].exists()


def simulations(root: Path, seed: int, entries: Sequence[Entry]) -> list[Simulate]:
    """Jobs that draw these scans, not too many: each reads the template first."""
    parts = [tuple(entries[at : at + CHUNK]) for at in range(0, len(entries), CHUNK)]
    return [Simulate(f"simulate-{at}-{part[0].id}", root, seed, part) for at, part in enumerate(parts)]
