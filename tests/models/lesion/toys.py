"""Small lesions in smooth noise, and networks too small to be good."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from models.tasks.lesion.examples import Example


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
