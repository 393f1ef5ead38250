"""Tuning of the least probability of a lesion voxel by the nDSC of development scans (Shifts 2.0, Table 4)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from models.assessment.convention import OFFICIAL
from models.assessment.segmentation import REFERENCE_LOAD, SMALL_VOXELS, ndsc_of_counts

STEP = 0.01


@dataclass(frozen=True)
class Tuned:
    """Best threshold, and the nDSC of all thresholds."""

    threshold: float
    """Best threshold; the middle one of several equal ones."""
    ndsc: float
    """Mean nDSC over scans at the best threshold."""
    levels: NDArray[np.float64]
    """All thresholds, [L]."""
    curve: NDArray[np.float64]
    """Mean nDSC at each threshold, [L]."""


def tune(
    scans: Iterable[tuple[NDArray[np.floating[Any]], NDArray[np.bool_]]], *, small_voxels: int = SMALL_VOXELS
) -> Tuned:
    """Return the best threshold for ensemble probabilities and truths [x, y, z], one scan at a time.

    A prediction is computed as in serving: probability >= threshold, components of at most ``small_voxels`` voxels
    dropped.

    Raises:
        ValueError: there is no scan that has an nDSC.
    """
    levels = np.round(np.arange(STEP, 1 - STEP / 2, STEP), 6)
    curves = [scores(probability, truth, levels, small_voxels=small_voxels) for probability, truth in scans]
    known = [curve for curve in curves if np.isfinite(curve).all()]
    if not known:
        raise ValueError(f"a threshold needs at least one scan with some voxels that are no lesion, got {len(curves)}")
    curve = np.mean(known, axis=0)
    best = np.flatnonzero(curve >= curve.max() - 1e-12)
    return Tuned(float(levels[best[len(best) // 2]]), float(curve.max()), levels, curve)


def scores(
    probability: NDArray[np.floating[Any]], truth: NDArray[np.bool_], levels: NDArray[np.float64], *, small_voxels: int
) -> NDArray[np.float64]:
    """Return the nDSC of a scan at each of increasing thresholds, [L].

    Components of all thresholds come from one spanning tree: of the voxels above the lowest threshold, each linked to
    neighbours that are at least as likely, only the links that join components are used again.
    """
    reached = np.searchsorted(levels.astype(probability.dtype), probability.ravel(), side="right")
    voxels = np.flatnonzero(reached)
    voxels = voxels[np.argsort(-reached[voxels], kind="stable")]  # voxels of a threshold come first
    counts = np.searchsorted(-reached[voxels], -np.arange(1, len(levels) + 1), side="right")
    hit = truth.ravel()[voxels]
    first, neighbour = _tree(voxels, probability.shape)
    marked, hits = (np.zeros(len(levels), np.int64) for _ in range(2))
    for number, count in enumerate(counts):
        if number and count == counts[number - 1]:
            marked[number], hits[number] = marked[number - 1], hits[number - 1]
        elif count:
            kept = _in_large(first[: count + 1], neighbour, small_voxels)
            marked[number], hits[number] = np.count_nonzero(kept), np.count_nonzero(kept & hit[:count])
    lesion = int(np.count_nonzero(truth))
    return ndsc_of_counts(marked - hits, lesion - hits, lesion, truth.size, REFERENCE_LOAD, OFFICIAL)


def _tree(voxels: NDArray[np.intp], shape: tuple[int, ...]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a spanning tree of voxels [n] that share faces: rows of a sparse matrix [n, n] with earlier voxels as
    columns.

    Its first k rows connect the same of the first k voxels as all links between them.
    """
    ranks = np.full(math.prod(shape), -1, np.int32)
    ranks[voxels] = np.arange(len(voxels), dtype=np.int32)
    ranks = ranks.reshape(shape)
    ends = []
    for axis in range(len(shape)):
        along = np.moveaxis(ranks, axis, 0)
        both = (along[1:] >= 0) & (along[:-1] >= 0)
        ends.append(np.stack([along[1:][both], along[:-1][both]]))
    first, other = np.concatenate(ends, axis=1)
    later, earlier = np.maximum(first, other), np.minimum(first, other)
    links = sparse.csr_array((later + 1.0, (later, earlier)), (len(voxels), len(voxels)))
    tree = csgraph.minimum_spanning_tree(links)  # a link is as long as its later rank
    return tree.indptr.astype(np.int32), tree.indices.astype(np.int32)


def _in_large(first: NDArray[np.int32], neighbour: NDArray[np.int32], small_voxels: int) -> NDArray[np.bool_]:
    """Return which of the first voxels of a tree are in components of more than ``small_voxels`` voxels, [k]."""
    count, links = len(first) - 1, int(first[-1])
    matrix = sparse.csr_array((np.ones(links), neighbour[:links], first), (count, count))
    _, labels = csgraph.connected_components(matrix, directed=False)
    return np.asarray((np.bincount(labels) > small_voxels)[labels])
