"""Fixed bins of an uncertainty score in which streams are counted, so that counts of replicas can be summed."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Counts = NDArray[np.integer[Any]] | Floats

MOST_EDGES = 250  # a bin and the number of bins fit into a byte


class Bins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bins: bin b holds edges[b - 1] < u <= edges[b]; the outer two are open, and a further one holds NaN."""

    edges: tuple[float, ...]
    """Upper edges in the measure's unit, strictly increasing."""

    def __post_init__(self) -> None:
        if len(self.edges) > MOST_EDGES:
            raise ValueError(f"bins need at most {MOST_EDGES} edges, got {len(self.edges)}: take fewer")
        if not all(map(math.isfinite, self.edges)):
            raise ValueError("edges of bins need to be finite: the outer bins are open anyway")
        if any(low >= high for low, high in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError("edges of bins need to increase: leave out those that repeat")

    def __len__(self) -> int:
        return len(self.edges) + 2

    def index(self, scores: Floats) -> NDArray[np.uint8]:
        """Return the bin of each score [n]; infinite scores are in the outer bins.

        Raises:
            ValueError: scores do not have one axis.
        """
        if scores.ndim != 1:
            raise ValueError(f"scores need the shape [n], got {list(scores.shape)}")
        indices = np.searchsorted(np.asarray(self.edges), scores).astype(np.uint8)
        indices[np.isnan(scores)] = len(self) - 1
        return indices

    def count(self, scores: Floats) -> NDArray[np.int64]:
        """Return the number of scores [n] in each bin [bins].

        Raises:
            ValueError: as ``index``.
        """
        return np.bincount(self.index(scores), minlength=len(self)).astype(np.int64)


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In-domain scores in bins."""

    bins: Bins
    counts: tuple[float, ...]
    """Units in each bin [bins]; fractions if computed from quantiles."""

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.bins):
            raise ValueError(f"{len(self.bins)} bins need as many counts, got {len(self.counts)}")


def of_quantiles(values: Sequence[float], levels: Sequence[float], units: int, bins: int = 20) -> Reference:
    """Return bins of about equal shares, from the quantiles of a score in an artefact.

    A value shared by several levels becomes one edge with the highest level, as ``Bins`` count ``u <= edge``.

    Args:
        values: quantiles in the measure's unit, e.g. those of ``Calibration.reference``.
        levels: their levels in [0, 1], increasing, e.g. ``REFERENCE_LEVELS``.
        units: in-domain units that they were computed from.
        bins: requested number of bins with equal shares; ties reduce it.

    Raises:
        ValueError: lengths differ, values fall, or nothing to count.
    """
    at, value = np.asarray(levels, np.float64), np.asarray(values, np.float64)
    if at.shape != value.shape or at.ndim != 1 or not len(at):
        raise ValueError(f"quantiles need one value a level, got {value.size} values for {at.size} levels")
    if not np.isfinite(value).all() or (np.diff(value) < 0).any() or (np.diff(at) <= 0).any():
        raise ValueError("quantiles need finite values that do not fall and levels that rise")
    if units < 1 or not 1 <= bins <= MOST_EDGES:
        raise ValueError(f"a reference needs units >= 1 and 1 <= bins <= {MOST_EDGES}, got {units} and {bins}")
    last = np.append(value[1:] > value[:-1], False)  # last of equal values; the largest needs no edge: open bin
    at, value = at[last], value[last]
    target = np.arange(1, bins) / bins
    picked = np.unique(np.minimum(np.searchsorted(at, target - 1e-9), max(len(at) - 1, 0))) if len(at) else np.arange(0)
    shares = np.diff(np.concatenate([[0.0], at[picked], [1.0]]))
    return Reference(Bins(tuple(value[picked].tolist())), (*(shares * units).tolist(), 0.0))
