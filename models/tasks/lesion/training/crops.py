"""Random training crops of scans in memory, augmented as released (Shifts 2.0, C). Needs monai."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from monai.transforms import (
    CastToTyped,
    Compose,
    RandAffined,
    RandCropByPosNegLabeld,
    RandFlipd,
    RandRotate90d,
    RandScaleIntensityd,
    RandShiftIntensityd,
)
from torch import Tensor

from models.tasks.lesion.data.examples import Example

LESION, OTHER = 4, 1
"""Ratio of crops around a lesion voxel to crops around another voxel of the brain."""
CENTRES = 20_000
"""Voxels outside lesions that may be centres of crops, per scan."""
VARIATION = 0.1
"""Largest change of intensity, both as a shift and as a share."""
_IMAGE, _TRUTH, _LESION, _OTHER = "image", "truth", "lesion", "other"


class Crops:
    """Batches of augmented crops; a batch depends only on the seed and the step, so that training can resume.

    Raises:
        ValueError: there are no examples, or one is smaller than a crop.
    """

    def __init__(self, examples: Sequence[Example], edge: int, seed: int) -> None:
        if not examples:
            raise ValueError("training needs at least one scan, got none")
        small = [example.truth.shape for example in examples if min(example.truth.shape) < edge]
        if small:
            raise ValueError(f"a scan of {list(small[0])} voxels is smaller than a crop of {edge} voxels a side")
        self._scans = [_scan(example, np.random.default_rng([seed, number])) for number, example in enumerate(examples)]
        self._seed = seed
        both = (_IMAGE, _TRUTH)
        self._vary = Compose(
            [
                RandCropByPosNegLabeld(
                    both,
                    label_key=_TRUTH,
                    spatial_size=(edge,) * 3,
                    pos=LESION,
                    neg=OTHER,
                    num_samples=1,
                    fg_indices_key=_LESION,
                    bg_indices_key=_OTHER,
                ),
                CastToTyped(both, dtype=torch.float32),
                *(RandFlipd(both, prob=0.5, spatial_axis=axis) for axis in range(3)),
                RandRotate90d(both, prob=0.5, spatial_axes=(0, 1)),
                RandAffined(
                    both,
                    prob=0.2,
                    rotate_range=(math.pi / 12,) * 3,
                    scale_range=(VARIATION,) * 3,
                    mode=("bilinear", "nearest"),
                    padding_mode="border",
                ),
                RandScaleIntensityd(_IMAGE, factors=VARIATION, prob=1.0),
                RandShiftIntensityd(_IMAGE, offsets=VARIATION, prob=1.0),
            ]
        )

    def batch(self, step: int, size: int) -> tuple[Tensor, Tensor]:
        """Return images [size, C, edge, edge, edge] and truths [size, 1, ...], float32.

        They are of different scans as far as possible.
        """
        generator = np.random.default_rng([self._seed, step])
        chosen = np.concatenate([generator.permutation(len(self._scans)) for _ in range(-(-size // len(self._scans)))])
        self._vary.set_random_state(seed=int(generator.integers(1 << 31)))
        crops = [self._vary(self._scans[number])[0] for number in chosen[:size]]
        images, truths = (torch.stack([_plain(crop[key]) for crop in crops]) for key in (_IMAGE, _TRUTH))
        return images, truths


def _scan(example: Example, generator: np.random.Generator) -> dict[str, Any]:
    """Return arrays for MONAI with candidates for centres.

    MONAI would otherwise search them in the whole scan at each step.
    """
    lesion = np.flatnonzero(example.truth)
    other = np.flatnonzero((example.image[0] != 0) & ~example.truth)
    if not len(other):
        other = np.arange(example.truth.size)
    other = np.sort(generator.choice(other, min(CENTRES, len(other)), replace=False))
    return {
        _IMAGE: torch.from_numpy(np.asarray(example.image)),
        _TRUTH: torch.from_numpy(np.asarray(example.truth))[None],
        _LESION: lesion if len(lesion) else other,
        _OTHER: other,
    }


def _plain(crop: Any) -> Tensor:
    return crop.as_tensor() if hasattr(crop, "as_tensor") else crop
