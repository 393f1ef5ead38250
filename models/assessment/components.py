"""Connected components of binary volumes, and the overlap of those of two volumes.

Voxels that share a face belong together, as in the released code. Arrays may have any number of dimensions. Lesions
have few voxels, so components are kept as lists of voxels unless a volume is needed.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int32]
Places = NDArray[np.intp]
Float64 = NDArray[np.float64]

_FEW = 0.02  # share of all voxels below which a graph numbers components faster than a walk through the volume


@dataclass(frozen=True)
class Components:
    """Voxels of a volume's components; all other voxels belong to no component."""

    shape: tuple[int, ...]
    places: Places
    """Flat indices of the voxels, ascending, [n]."""
    numbers: Labels
    """Component number of each voxel, from 1, [n]."""
    count: int

    @property
    def sizes(self) -> Places:
        """Number of voxels of each component, [count]."""
        return np.bincount(self.numbers, minlength=self.count + 1)[1:]

    def labels(self) -> Labels:
        """Return the component numbers as a volume; 0 elsewhere."""
        volume = np.zeros(math.prod(self.shape), np.int32)
        volume[self.places] = self.numbers
        return volume.reshape(self.shape)

    def mask(self) -> NDArray[np.bool_]:
        """Return the mask of the voxels that belong to a component."""
        marked = np.zeros(math.prod(self.shape), bool)
        marked[self.places] = True
        return marked.reshape(self.shape)


@dataclass(frozen=True)
class Overlap:
    """Overlap of the components of two volumes."""

    ours: Float64
    """Largest IoU of each of our components with one of theirs, 0 to 1."""
    theirs: Float64
    """Largest IoU of each of their components with one of ours, 0 to 1."""
    voxels: int
    """Number of voxels in both volumes."""


def listed(mask: NDArray[np.bool_], more_than: int = 0) -> Components:
    """Return the components with more than ``more_than`` voxels, in the order of their first voxels."""
    places = np.flatnonzero(mask)
    many = len(places) > _FEW * mask.size
    numbers = _walked(mask).reshape(-1)[places] if many else _joined(places, mask.shape)
    keep = np.bincount(numbers, minlength=1) > more_than
    keep[0] = False
    here = keep[numbers]
    renumbered = np.where(keep, np.cumsum(keep), 0).astype(np.int32)
    return Components(mask.shape, places[here], renumbered[numbers[here]], int(np.count_nonzero(keep)))


def components(mask: NDArray[np.bool_]) -> Labels:
    """Number the components 1, 2, ... by their first voxels, in the shape of the mask; 0 elsewhere."""
    return listed(mask).labels()


def overlaps(ours: Components, theirs: Components) -> Overlap:
    """Compare the components of two volumes of one shape: pairs that touch are counted, all others overlap by 0."""
    at = np.searchsorted(theirs.places, ours.places)
    at[at == len(theirs.places)] = 0
    both = theirs.places[at] == ours.places if len(theirs.places) else np.zeros(len(at), bool)
    width = max(theirs.count, 1)
    touching = (ours.numbers[both] - 1).astype(np.int64) * width + (theirs.numbers[at[both]] - 1)
    pairs, shared = np.unique(touching, return_counts=True)
    mine, other = np.divmod(pairs, width)
    iou: NDArray[Any] = shared / (ours.sizes[mine] + theirs.sizes[other] - shared)
    our_best, their_best = np.zeros(ours.count), np.zeros(theirs.count)
    np.maximum.at(our_best, mine, iou)
    np.maximum.at(their_best, other, iou)
    return Overlap(our_best, their_best, len(touching))


def _walked(mask: NDArray[np.bool_]) -> Labels:
    from scipy import ndimage

    labels, _ = ndimage.label(mask)
    return np.asarray(labels, np.int32)


def _joined(places: Places, shape: tuple[int, ...]) -> Labels:
    """Return the component of each of a few voxels, from the graph of voxels that share a face."""
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
    starts, other = (np.concatenate(side) for side in zip(*edges, strict=True))
    graph = sparse.coo_array((np.ones(len(starts), np.int8), (starts, other)), (len(places), len(places)))
    _, numbers = csgraph.connected_components(graph, directed=False)
    return np.asarray(numbers + 1, np.int32)
