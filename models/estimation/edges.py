"""Bins of a measure with an identity: only sketches with the same bins can be summed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from models.assessment.ranking import Floats
from models.estimation.window import BadWindow, Doubles

BINS = 512
_TAIL = 10  # bins beyond either end of the sample
_INNER = BINS - 2 - 2 * _TAIL  # one more bin than edges, and one for NaN
_FINE = (0.94, 0.96)  # retentions around that of F1@95, with finer bins


@dataclass(frozen=True)
class Edges:
    """Edges of bins: bin b holds ``values[b - 1] < u <= values[b]``, so that a threshold on an edge separates bins.

    The last bin but one holds values above all edges, the last one NaN.

    Raises:
        BadWindow: edges that are not finite, not ascending, or not in float32.
    """

    values: NDArray[np.float32]
    """Edges, ascending [E]; there are E + 2 bins."""

    def __post_init__(self) -> None:
        values = self.values
        if values.dtype != np.float32 or values.ndim != 1 or not 0 < len(values) <= BINS - 2:
            raise BadWindow(f"edges need float32 [E] with 1 to {BINS - 2} values, not {values.dtype} {values.shape}")
        if not np.isfinite(values).all() or (np.diff(values) <= 0).any():
            raise BadWindow("edges need to be finite and ascending")

    @staticmethod
    def of(sample: Floats) -> Edges:
        """Return edges for a sample of the measure, of any sign.

        They are quantiles, finer at both ends and around 95 %, then steps that double beyond the sample. If the measure
        has few values, each gets a bin and the sketch is exact.

        Raises:
            BadWindow: the sample has no finite value.
        """
        known = np.sort(single(sample[np.isfinite(sample)]))
        known = known[np.isfinite(known)]
        if not len(known):
            raise BadWindow("the sample has no finite uncertainty to take bins from")
        inner = known[np.flatnonzero(np.diff(known, prepend=-np.inf))]
        if len(inner) > _INNER:
            inner = np.unique(known[np.ceil(_levels(_INNER, len(known)) * (len(known) - 1)).astype(np.intp)])
        low, high = float(known[0]), float(known[-1])
        unit = (high - low) or abs(high) or 1.0
        steps = unit * 2.0 ** np.arange(-3, _TAIL - 3)
        with np.errstate(over="ignore"):
            values = np.concatenate([low - steps[::-1], inner, high + steps]).astype(np.float32)
        return Edges(np.unique(values[np.isfinite(values)]))

    def __len__(self) -> int:
        """Return the number of bins."""
        return len(self.values) + 2

    @cached_property
    def identity(self) -> str:
        """Hash of the edges."""
        return hashlib.sha256(self.values.astype("<f4").tobytes()).hexdigest()[:16]

    def bins(self, uncertainty: Floats) -> NDArray[np.intp]:
        """Return the bin of each unit [N]; scores are compared in float32, as policies do."""
        places = np.searchsorted(self.values, single(uncertainty), side="left")
        missing = np.isnan(uncertainty)
        if missing.any():
            places[missing] = len(self.values) + 1
        return places

    def below(self, thresholds: Doubles, count: Doubles) -> Doubles:
        """Return the number of units whose measure is at most each threshold [K], spread evenly inside a bin.

        Args:
            count: units of each bin [B].
        """
        edges = self.values.astype(np.float64)
        ends = np.cumsum(count)[: len(edges)]
        last = float(count[:-1].sum())
        limits = single(thresholds).astype(np.float64)
        return np.interp(limits, edges, ends, left=0.0, right=last)


def single(values: Floats) -> NDArray[np.float32]:
    """Convert values to float32, as policies compare them; values that are too large become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _levels(number: int, n: int) -> Doubles:
    """Return levels of quantiles of n values [number]: even, closer at both ends and around the retention of F1@95."""
    tails, fine = number // 16, number // 8
    end = np.geomspace(min(1 / n, 0.005), 0.01, tails)
    even = np.linspace(0.01, 0.99, number - 2 * tails - fine - 2)
    levels = np.concatenate([[0.0], end, even, np.linspace(*_FINE, fine), 1 - end, [1.0]])
    return np.unique(levels)
