"""Small lesions in smooth noise, and networks too small to be good."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import ndimage

from models.tasks.lesion.data.examples import Example
from tests.models.lesion import nifti


def example(seed: int, edge: int = 40, channels: int = 1) -> Example:
    """A cube of noise with a few bright balls."""
    generator = np.random.default_rng(seed)
    shape = (edge,) * 3
    image = ndimage.gaussian_filter(generator.standard_normal((channels, *shape)), (0, 1, 1, 1))
    truth = np.zeros(shape, bool)
    for _ in range(6):
        centre = generator.integers(6, edge - 6, 3)
        apart = np.indices(shape) - centre[:, None, None, None]
        truth |= (apart**2).sum(axis=0) < generator.integers(8, 36)
    return Example((image / image.std() + 3 * truth).astype(np.float16), truth)


@dataclass(frozen=True)
class Case:
    """The files of a scan, as ``official.Case`` has them."""

    id: str
    flair: Path
    truth: Path | None
    t1: Path | None = None
    brain: Path | None = None


def case(folder: Path, seed: int, edge: int = 48) -> Case:
    """A ball of a brain with lesions, in two files."""
    made = example(seed, edge)
    apart = np.indices(made.truth.shape) - (edge - 1) / 2
    brain = (apart**2).sum(axis=0) < (edge * 0.48) ** 2
    tissue = np.where(brain, 100 + 12 * made.image[0].astype(np.float32), 0)
    case_folder = folder / f"case{seed}"
    flair = nifti.saved(case_folder / f"{seed}_FLAIR_isovox.nii.gz", tissue)
    return Case(f"{seed}", flair, nifti.saved(case_folder / f"{seed}_gt_isovox.nii.gz", made.truth & brain))
