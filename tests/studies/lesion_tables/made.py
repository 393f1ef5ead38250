"""Small scans in the simulator's folders: a ball with brighter lesions, less bright where the site is shifted."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from simulators.lesion.cohort import Entry
from studies.lesion_tables.experiment import case, write

EDGE = 48


def scans(root: Path, entries: Iterable[Entry]) -> None:
    """Writes them."""
    for entry in entries:
        generator = entry.rng(1)
        brain = _ball(np.full(3, EDGE / 2), 20)
        truth = np.zeros_like(brain)
        for _ in range(generator.integers(2, 6)):
            truth |= _ball(generator.uniform(14, EDGE - 14, 3), generator.uniform(2, 4))
        contrast = 1.0 if entry.site in ("site_e", "site_f") else 2.0
        image = 10 + 2 * generator.standard_normal(brain.shape) + 2 * contrast * truth
        write(case(root, entry), np.where(brain, image, 0).astype(np.float32), brain, truth)


def _ball(centre: np.ndarray, radius: float) -> np.ndarray:
    places = np.indices((EDGE,) * 3) - np.asarray(centre)[:, None, None, None]
    return np.asarray((places**2).sum(axis=0) <= radius**2)
