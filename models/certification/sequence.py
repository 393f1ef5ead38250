"""Fixed-sequence testing with several starts: many hypotheses in a fixed order, at one level for all.

Testing strict thresholds first and stopping at the first that fails spends the whole level at each (learn then test,
Angelopoulos et al. 2021). A single start can fail completely: if it is too strict it has too few units, if it is too
loose the risk is above the limit. So the level is shared among a few starts and carried on from each rejected
hypothesis to the next: the fallback procedure (Wiens 2003). The probability that any true hypothesis is rejected is at
most delta, for any dependence between the tests: while no true one is rejected, the level at each true hypothesis is
the sum of the shares since the previous true one, and these sums are disjoint.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

FIRST, SECOND = 0.9, 0.1
"""Shares of the level: most where power is best, the rest at looser thresholds for risks that need more units."""


def last_rejected(pvalue: Callable[[int], float], shares: Sequence[float], delta: float) -> int | None:
    """Return the last hypothesis that is rejected, None if there is none; p-values are computed only as needed.

    Args:
        pvalue: function from an index to the p-value of its hypothesis.
        shares: shares of delta, one per hypothesis in order; they sum to at most 1.
    """
    last, carried = None, 0.0
    for index, share in enumerate(shares):
        level = carried + share * delta
        carried = 0.0
        if level > 0 and pvalue(index) <= level:
            last, carried = index, level
    return last


def starts(expected: NDArray[np.float64], units: float, smallest: int) -> NDArray[np.float64]:
    """Return the shares [m] of the level for thresholds, by the ascending numbers of tested units expected at them [m].

    The first start expects 15 % of all ``units`` and at least four times the zero-failure size, the second 45 % and
    eight times: with fewer, one or two failures by chance end the sequence. The expectations must come from other units
    than the tested ones, so that the shares are fixed before these are seen.
    """
    shares = np.zeros(len(expected))
    for share, part, times in ((FIRST, 0.15, 4), (SECOND, 0.45, 8)):
        least = max(part * units, times * smallest)
        shares[min(int(np.searchsorted(expected, least)), len(expected) - 1)] += share
    return shares
