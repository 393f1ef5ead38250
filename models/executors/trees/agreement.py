"""Agreement of compact tables with the library, checked on probe rows."""

import ctypes

import numpy as np
from numpy.typing import NDArray

from models.executors.trees.cbm import read_trees
from models.executors.trees.library import Library
from models.executors.trees.link import linked
from models.executors.trees.model import TreeModel
from models.executors.trees.tables import NoTables, PackedTrees, Tables, pack
from models.executors.trees.virtual import Cut

TOLERANCE = 1e-5
"""Largest difference of tables from the library: relative to a variance or probability, and for means relative to the
mean plus the median magnitude of means (fixed point has no relative precision near zero).
"""
_PROBES = 64


def agreeing(compiled: ctypes.CDLL, library: Library, model: TreeModel, how: Cut, features: int) -> PackedTrees:
    """Pack a model, and compare tables and library on rows with values around its borders and missing ones.

    Args:
        compiled: the kernel.
        library: has the model open.
        features: number of columns of a row.

    Raises:
        NoTables: trees that do not fit into tables, that could differ by more than the tolerance, or that do.
        UnreadableTrees: trees that are not oblivious or not on numeric features.
    """
    packed = pack(read_trees(model.path))
    if packed.dimension != model.dimension or len(packed.depths) != model.trees:
        raise NoTables(f"{model.path}: {len(packed.depths)} trees of dimension {packed.dimension} are read")
    logarithms = packed.error if len(model.classes) else packed.error[1:]
    if not (logarithms * how.weights.max() <= TOLERANCE / 4).all():  # doubled by exp(2 x) and by a softmax
        raise NoTables(f"{model.path}: leaves so large that fixed point could differ by {logarithms.max():.1e}")
    rows = probes(packed, features)
    own = linked(model, Tables(compiled, [(packed, how)])(rows)[0]).astype(np.float64)
    theirs = linked(model, how.members(library.pieces(model, how, rows))).astype(np.float64)
    size = np.abs(theirs)
    if not len(model.classes):
        size[..., 0] += np.median(size[..., 0])
    if not (np.abs(own - theirs) <= TOLERANCE * size).all():
        raise NoTables(f"{model.path}: tables differ from the library by {np.max(np.abs(own - theirs) / size):.1e}")
    return packed


def probes(packed: PackedTrees, features: int) -> NDArray[np.float32]:
    """Return rows [n, F] that reveal a wrong comparison, border or treatment of missing values."""
    draw = np.random.default_rng(0)
    rows = np.zeros((_PROBES, features), np.float32)
    for (feature, _), borders in packed.columns.items():
        drawn = draw.choice(borders, _PROBES)
        aside = draw.integers(-1, 2, _PROBES)
        towards = np.where(aside > 0, np.float32(np.inf), np.float32(-np.inf))
        with np.errstate(over="ignore"):  # beyond the largest float32, which represents missing values, is infinity
            rows[:, feature] = np.where(aside == 0, drawn, np.nextafter(drawn, towards))
    rows[draw.random(rows.shape) < 0.05] = np.nan
    rows[draw.random(rows.shape) < 0.01] = np.inf
    rows[draw.random(rows.shape) < 0.01] = -np.inf
    return rows
