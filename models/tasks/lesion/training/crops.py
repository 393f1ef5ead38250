"""Random training crops of scans in memory, augmented as released (Shifts 2.0, C), and fixed windows to score members.

Needs torch and monai.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from numpy.typing import NDArray
from torch import Tensor, nn

from models.assessment.convention import OFFICIAL
from models.assessment.segmentation import REFERENCE_LOAD, ndsc_of_counts
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
        small = [one.truth.shape for one in examples if min(one.truth.shape) < edge]
        if small:
            raise ValueError(f"a scan of {list(small[0])} voxels is smaller than a crop of {edge} voxels a side")
        self._scans = [_scan(one, np.random.default_rng([seed, number])) for number, one in enumerate(examples)]
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


DEV_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Least probabilities of a lesion voxel that are tried in training; the best one counts, since the threshold is tuned
later.
"""


def difference(network: nn.Module, windows: Tensor) -> Tensor:
    """Return logit 1 - logit 0, [batch, 1, x, y, z]."""
    logits = network(windows)
    return logits[:, 1:] - logits[:, :1]


@dataclass(frozen=True)
class Tiles:
    """Fixed windows of a development scan for all evaluations."""

    images: Tensor
    """Images [tiles, C, edge, edge, edge]."""
    truths: Tensor
    """Truths [tiles, 1, edge, edge, edge], bool."""
    own: Tensor
    """Mask of voxels that are in no earlier tile, of the same shape."""
    voxels: int
    """Number of voxels of the scan."""

    @classmethod
    def of(cls, scan: Example, edge: int, count: int) -> Tiles:
        """Choose tiles: half with most lesion voxels, the others spread over the rest of the brain."""
        places = [place for place in _places(scan.truth.shape, edge) if scan.image[0][place].any()]
        places.sort(key=lambda place: -int(scan.truth[place].sum()))
        rich, rest = places[: -(-count // 2)], places[-(-count // 2) :]
        spread = np.linspace(0, len(rest) - 1, min(count // 2, len(rest))).round().astype(int)
        chosen = [*rich, *(rest[number] for number in spread)]
        new, own = np.ones(scan.truth.shape, bool), []
        for place in chosen:
            own.append(_padded(new[None][(slice(None), *place)], edge))
            new[place] = False
        images = np.stack([_padded(scan.image[(slice(None), *place)], edge) for place in chosen])
        truths = np.stack([_padded(scan.truth[None][(slice(None), *place)], edge) for place in chosen])
        tiles, marked, counted = map(torch.from_numpy, (images, truths, np.stack(own)))
        return cls(tiles, marked, counted, scan.truth.size)

    def ndsc(self, network: nn.Module) -> NDArray[np.float64]:
        """Return the nDSC at each of ``DEV_LEVELS`` over the tiles' voxels, as if the scan had no lesion elsewhere."""
        limits = torch.logit(torch.tensor(DEV_LEVELS, dtype=torch.float64)).float()
        marked, found, lesion = np.zeros(len(limits)), np.zeros(len(limits)), 0
        with torch.no_grad():
            for image, truth, own in zip(self.images, self.truths, self.own, strict=True):
                level = torch.bucketize(difference(network, image[None].float())[0], limits, right=True)
                marked += _reached(level[own])
                found += _reached(level[own & truth])
                lesion += int((own & truth).sum())
        return np.nan_to_num(
            ndsc_of_counts(marked - found, lesion - found, lesion, self.voxels, REFERENCE_LOAD, OFFICIAL)
        )


def _reached(levels: Tensor) -> NDArray[np.float64]:
    """Return the number of values that reach each of ``DEV_LEVELS``, given the number of levels that each value
    reaches.
    """
    counts = torch.bincount(levels, minlength=len(DEV_LEVELS) + 1).numpy()
    return np.asarray(counts[::-1].cumsum()[::-1][1:], np.float64)


def _places(shape: tuple[int, ...], edge: int) -> Iterator[tuple[slice, ...]]:
    """Yield adjacent windows that cover a volume; the last of a row ends with the volume."""
    starts = [[min(at, max(size - edge, 0)) for at in range(0, size, edge)] for size in shape]
    for corner in np.ndindex(*map(len, starts)):
        yield tuple(slice(row[at], row[at] + edge) for row, at in zip(starts, corner, strict=True))


def _padded(values: Any, edge: int) -> Any:
    return np.pad(values, [(0, 0), *((0, edge - size) for size in values.shape[1:])])
