"""Connected components of binary volumes and how well those of two volumes overlap.

Voxels that share a face belong together, as in the released code. Arrays may have any number of dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int32]
Float64 = NDArray[np.float64]


def components(mask: NDArray[np.bool_]) -> Labels:
    """Numbers 1, 2, ... of the components, in the shape of the mask; 0 elsewhere."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask)
    return np.asarray(labels, np.int32)


def sizes(labels: Labels) -> NDArray[np.intp]:
    """Voxels of each component, [components]."""
    return np.bincount(labels.ravel())[1:]


def best_overlaps(ours: Labels, theirs: Labels) -> tuple[Float64, Float64]:
    """Largest IoU of each of our components with one of theirs, and of each of theirs with one of ours, 0 to 1.

    One pass over the volumes: pairs that touch are counted, all others overlap by 0.
    """
    our_sizes, their_sizes = sizes(ours), sizes(theirs)
    both = (ours > 0) & (theirs > 0)
    width = max(len(their_sizes), 1)
    pairs, shared = np.unique((ours[both] - 1).astype(np.int64) * width + (theirs[both] - 1), return_counts=True)
    mine, other = np.divmod(pairs, width)
    iou: NDArray[Any] = shared / (our_sizes[mine] + their_sizes[other] - shared)
    our_best, their_best = np.zeros(len(our_sizes)), np.zeros(len(their_sizes))
    np.maximum.at(our_best, mine, iou)
    np.maximum.at(their_best, other, iou)
    return our_best, their_best
