"""Detection of shifted units by their uncertainty (Shifts 1.0, section 2: ROC-AUC).

The positive class is "shifted", the score is the uncertainty. Ties count one half. NaN uncertainty ranks as the most
uncertain.
"""

import math

import numpy as np
from numpy.typing import NDArray

from models.assessment.ranking import Floats, Ranking, ranking, share_ties

_BLOCK = 1 << 20  # ranks per step, so that temporaries stay small


def roc_auc(shifted: NDArray[np.bool_], uncertainty: Floats | Ranking) -> float:
    """Return the probability that a shifted unit is more uncertain than an in-domain one, 0 to 1 (Mann-Whitney).

    NaN if one of the two domains is empty.

    Args:
        shifted: whether each unit [n] is shifted.
        uncertainty: its measure [n], or the ranking of it.

    Raises:
        ValueError: different lengths.
    """
    ranks = _checked(shifted, uncertainty)
    positive = int(np.count_nonzero(shifted))
    negative = len(shifted) - positive
    if not positive or not negative:
        return math.nan
    places = np.arange(1, len(shifted) + 1, dtype=np.float64)
    share_ties(places, ranks)
    total = float(np.sum(places, where=shifted[ranks.order]))
    return (total - positive * (positive + 1) / 2) / (positive * negative)


def aupr(shifted: NDArray[np.bool_], uncertainty: Floats | Ranking) -> float:
    """Return the area under precision against recall of "shifted", 0 to 1: trapezoid between thresholds, as released.

    (Average precision, a step function, is a different number.) NaN if one of the two domains is empty.

    Raises:
        ValueError: different lengths.
    """
    ranks = _checked(shifted, uncertainty)
    positive = int(np.count_nonzero(shifted))
    if not positive or positive == len(shifted):
        return math.nan
    descending = shifted[ranks.order][::-1]
    # a threshold includes whole groups of ties, so that points of the curve are at the ends of groups
    ends = None if ranks.follows is None else ~ranks.follows[::-1]
    area, before, recall, precision = 0.0, 0, 0.0, 1.0
    for start in range(0, len(descending), _BLOCK):
        part = slice(start, start + _BLOCK)
        hits = before + np.cumsum(descending[part])
        flagged = np.arange(start + 1, start + 1 + len(hits))
        before = int(hits[-1])
        if ends is not None:
            hits, flagged = hits[ends[part]], flagged[ends[part]]
        recalls = np.concatenate([[recall], hits / positive])
        precisions = np.concatenate([[precision], hits / flagged])
        area += float(np.trapezoid(precisions, recalls))
        recall, precision = recalls[-1], precisions[-1]
    return area


def _checked(shifted: NDArray[np.bool_], uncertainty: Floats | Ranking) -> Ranking:
    if len(shifted) != len(uncertainty):
        raise ValueError(f"shifted [{len(shifted)}] and uncertainty [{len(uncertainty)}] need one length")
    return ranking(uncertainty)
