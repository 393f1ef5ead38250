"""Score of a member during training, on fixed windows of development scans. Needs torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from models.assessment.convention import OFFICIAL
from models.assessment.segmentation import REFERENCE_LOAD, ndsc_of_counts
from models.tasks.lesion.data.examples import Example

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
        marked, hits, lesion = np.zeros(len(limits)), np.zeros(len(limits)), 0
        with torch.no_grad():
            for image, truth, own in zip(self.images, self.truths, self.own, strict=True):
                level = torch.bucketize(difference(network, image[None].float())[0], limits, right=True)
                marked += _reached(level[own])
                hits += _reached(level[own & truth])
                lesion += int((own & truth).sum())
        return np.nan_to_num(
            ndsc_of_counts(marked - hits, lesion - hits, lesion, self.voxels, REFERENCE_LOAD, OFFICIAL)
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
