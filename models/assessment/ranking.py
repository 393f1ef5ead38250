"""Units in the order of their uncertainty: sorted once, used by every curve."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Units from most to least certain. NaN is the least certain: units without a score are deferred first."""

    order: NDArray[np.integer[Any]]
    """Index of the unit at each rank [n]; among ties in the order of input."""
    follows: NDArray[np.bool_] | None
    """Mask of the ranks with the same uncertainty as the rank before [n]; None if all are distinct."""

    def __len__(self) -> int:
        return len(self.order)

    def tie_groups(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the first rank, and the rank behind the last, of each group of two or more equal uncertainties."""
        if self.follows is None:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        begins = np.flatnonzero(~self.follows[:-1] & self.follows[1:])
        ends = np.flatnonzero(self.follows & np.append(~self.follows[1:], True)) + 1
        return begins, ends


def ranking(uncertainty: Floats | Ranking) -> Ranking:
    """Return the ranking of an uncertainty [n], larger is less certain; a ranking is returned unchanged.

    Raises:
        ValueError: no units, or not one axis.
    """
    if isinstance(uncertainty, Ranking):
        return uncertainty
    if uncertainty.ndim != 1 or not len(uncertainty):
        raise ValueError(f"uncertainty needs the shape [n] with n > 0, not {list(uncertainty.shape)}")
    order = np.argsort(uncertainty, kind="stable")
    if len(order) < 2**32:  # half the memory while curves are computed
        order = order.astype(np.uint32)
    ranked = uncertainty[order]
    follows = np.empty(len(order), bool)
    follows[0] = False
    np.equal(ranked[1:], ranked[:-1], out=follows[1:])
    if np.isnan(ranked[-1]):
        follows[np.searchsorted(ranked, np.nan) + 1 :] = True
    return Ranking(order, follows if follows.any() else None)


def share_ties(values: NDArray[np.float64], ranks: Ranking) -> None:
    """Replace ranked values [n] of tied units by the mean of their group, in place."""
    begins, ends = ranks.tie_groups()
    if not len(begins):
        return
    cuts = np.empty(2 * len(begins), np.intp)
    cuts[::2], cuts[1::2] = begins, ends
    sums = np.add.reduceat(values, cuts[:-1] if cuts[-1] == len(values) else cuts)[::2]
    counts = ends - begins
    tied = ranks.follows.copy()  # type: ignore[union-attr]
    tied[begins] = True
    values[tied] = np.repeat(sums / counts, counts)


def reverse_ties(values: NDArray[Any], ranks: Ranking) -> NDArray[Any]:
    """Return ranked values [n] with the order inside each group of ties reversed."""
    begins, ends = ranks.tie_groups()
    if not len(begins):
        return values
    counts = ends - begins
    tied = ranks.follows.copy()  # type: ignore[union-attr]
    tied[begins] = True
    mirrored = np.repeat(begins + ends - 1, counts)
    mirrored -= np.flatnonzero(tied)
    turned = values.copy()
    turned[tied] = values[mirrored]
    return turned
