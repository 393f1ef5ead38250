"""Ground truth of a scan: consensus of a site's raters on the lesions that they see."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from simulators.lesion import fields
from simulators.lesion.fields import Float
from simulators.lesion.sites import Raters

_FAINT = 0.2
"""Share of a voxel below which no rater draws it."""


def consensus(
    rng: np.random.Generator, share: Float, brightness: Float, brain: NDArray[np.bool_], team: Raters
) -> NDArray[np.bool_]:
    """Return the voxels that more than half of the raters drew (both of two raters), [x, y, z].

    Args:
        share: lesion share of each voxel, as the image shows it.
        brightness: brightness of the lesion to which a voxel belongs, 1 on average.
    """
    seen = share * np.clip(0.4 + 0.6 * brightness, 0.5, 1.3)
    labels, count = ndimage.label((seen > _FAINT) & brain)
    truth = np.zeros(share.shape, bool)
    if not count:
        return truth
    flat = np.flatnonzero(labels)
    lesion, value = labels.ravel()[flat], seen.ravel()[flat]
    volume = np.bincount(lesion, value, minlength=count + 1)
    peak = ndimage.maximum(seen, labels, np.arange(count + 1))
    visible = volume * np.clip(peak, 0, 1) ** 2 / team.overlooked
    chance = visible**1.5 / (1 + visible**1.5)
    votes = np.zeros(len(flat), np.int32)
    own = rng.normal(0, team.disagreement, team.count)
    for rater in range(team.count):
        marked = rng.random(count + 1) < chance
        local = 0.045 * fields.smooth(rng, share.shape, 6.0).ravel()[flat]
        votes += (value > np.clip(team.border + own[rater] + local, _FAINT, 0.95)) & marked[lesion]
    truth.ravel()[flat] = 2 * votes > team.count
    return _without_small(truth, team.smallest)


def _without_small(truth: NDArray[np.bool_], smallest: int) -> NDArray[np.bool_]:
    labels, count = ndimage.label(truth)
    keep = np.bincount(labels.ravel(), minlength=count + 1) >= smallest
    keep[0] = False
    return np.asarray(keep[labels])
