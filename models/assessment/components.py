"""Connected components of binary volumes and how well those of two volumes overlap.

Voxels that share a face belong together, as in the released code. Arrays may have any number of dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int32]
Float64 = NDArray[np.float64]

_FEW = 0.02  # of all voxels: so many are found quicker as a graph than by a walk through the volume


def components(mask: NDArray[np.bool_]) -> Labels:
    """Numbers 1, 2, ... of the components by their first voxels, in the shape of the mask; 0 elsewhere."""
    from scipy import ndimage

    places = np.flatnonzero(mask)
    if len(places) > _FEW * mask.size:
        labels, _ = ndimage.label(mask)
        return np.asarray(labels, np.int32)
    found = np.zeros(mask.shape, np.int32)
    found.reshape(-1)[places] = _numbers(places, mask.shape)
    return found


def large_components(mask: NDArray[np.bool_], voxels: int) -> Labels:
    """As ``components``, of those of more than so many voxels; small ones count as elsewhere."""
    labels = components(mask)
    flat = labels.reshape(-1)
    places = _places(labels)  # lesions are few among many voxels
    own = flat[places]
    keep = np.bincount(own, minlength=1) > voxels
    keep[0] = False
    numbers = np.where(keep, np.cumsum(keep), 0).astype(np.int32)
    flat[places] = numbers[own]
    return labels


def _numbers(places: NDArray[np.intp], shape: tuple[int, ...]) -> Labels:
    """Component of each of a few voxels by their flat indices, in order: as a graph of those that share a face."""
    from scipy import sparse
    from scipy.sparse import csgraph

    step, edges = 1, []
    for length in reversed(shape):
        here = np.flatnonzero(places // step % length < length - 1)  # has a neighbour along this axis
        there = np.searchsorted(places, places[here] + step)
        there[there == len(places)] = 0
        both = places[there] == places[here] + step
        edges.append((here[both], there[both]))
        step *= length
    one, other = (np.concatenate(side) for side in zip(*edges, strict=True))
    graph = sparse.coo_array((np.ones(len(one), np.int8), (one, other)), (len(places), len(places)))
    _, numbers = csgraph.connected_components(graph, directed=False)
    return np.asarray(numbers + 1, np.int32)


def sizes(labels: Labels) -> NDArray[np.intp]:
    """Voxels of each component, [components]."""
    return np.bincount(labels.reshape(-1)[_places(labels)])[1:]


def best_overlaps(ours: Labels, theirs: Labels) -> tuple[Float64, Float64]:
    """Largest IoU of each of our components with one of theirs, and of each of theirs with one of ours, 0 to 1.

    One pass over the volumes: pairs that touch are counted, all others overlap by 0.
    """
    our_sizes, their_sizes = sizes(ours), sizes(theirs)
    at = _places(ours)
    mine_there, theirs_there = ours.reshape(-1)[at], theirs.reshape(-1)[at]
    both = theirs_there > 0
    width = max(len(their_sizes), 1)
    touching = (mine_there[both] - 1).astype(np.int64) * width + (theirs_there[both] - 1)
    pairs, shared = np.unique(touching, return_counts=True)
    mine, other = np.divmod(pairs, width)
    iou: NDArray[Any] = shared / (our_sizes[mine] + their_sizes[other] - shared)
    our_best, their_best = np.zeros(len(our_sizes)), np.zeros(len(their_sizes))
    np.maximum.at(our_best, mine, iou)
    np.maximum.at(their_best, other, iou)
    return our_best, their_best


def _places(labels: Labels) -> NDArray[np.intp]:
    """Flat indices of the components' voxels; booleans are searched far quicker than numbers."""
    return np.flatnonzero(labels != 0)
