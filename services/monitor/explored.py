"""Units that were no real question: counted, and their scores of the last day compared with in-domain data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.drift.bins import Reference
from models.drift.psi import Shift, shift
from services.monitor.units import Longs

HOUR_SECONDS = 3600.0
HOURS = 24


class Explored:
    """What callers explored and replayed of one stream, by purpose."""

    def __init__(self, known: Reference | None, edges: Sequence[float]) -> None:
        """
        Args:
            known: in-domain scores; None: nothing is compared.
            edges: of the bins that ledgers count explored units in, in the measure's unit.
        """
        self.units: Counter[str] = Counter()
        self._known = known
        self._places = None if known is None else known.bins.index(np.append(np.asarray(edges, np.float64), np.inf))
        self._hours: defaultdict[str, dict[int, Longs]] = defaultdict(dict)

    def add(self, purpose: str, time: float, units: int, histogram: NDArray[np.uint32] | None) -> None:
        """
        Args:
            time: of the last unit, seconds since 1970.
            histogram: as ``services.ledger.segments.histogram`` counts; None where the ledger kept none.
        """
        self.units[purpose] += units
        if histogram is None or self._known is None or len(histogram) != len(self._places) + 1:  # type: ignore[arg-type]
            return
        counts = np.bincount(self._places, weights=histogram[:-1], minlength=len(self._known.bins)).astype(np.int64)  # type: ignore[arg-type]
        counts[-1] += histogram[-1]
        hours = self._hours[purpose]
        hour = int(time // HOUR_SECONDS)
        hours[hour] = hours.get(hour, 0) + counts
        for old in [one for one in hours if one <= max(hours) - HOURS]:
            del hours[old]

    def shifts(self) -> dict[str, Shift]:
        """Purpose to how the scores of its last day differ from in-domain data."""
        if self._known is None:
            return {}
        reference = np.asarray(self._known.counts)
        return {purpose: shift(reference, sum(hours.values())) for purpose, hours in self._hours.items() if hours}  # type: ignore[arg-type]
