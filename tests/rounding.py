"""Tolerances of comparisons, counted in roundings."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def tolerance(largest: ArrayLike, roundings: float, kind: type[np.floating[Any]] = np.float32) -> float:
    """Return the most by which roundings move a number: eps of its type times the largest value times their number.

    A sum of n terms in another order is rounded at up to n other places, whose effects have either sign: about the root
    of n of them remain.

    Args:
        largest: value on the way to the number, or an array whose largest is taken.
    """
    return float(np.finfo(kind).eps * np.abs(np.asarray(largest, np.float64)).max() * roundings)
