"""Coverage of prediction intervals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def coverage(target: Floats, mean: Floats, variance: Floats, multiplier: float) -> float:
    """Return the share of targets [N] within mean ± multiplier * sqrt(variance), 0 to 1.

    Raises:
        ValueError: no units.
    """
    if not len(target):
        raise ValueError("coverage of no units is undefined")
    half = multiplier * np.sqrt(np.asarray(variance, np.float64))
    return float(np.mean(np.abs(np.asarray(target, np.float64) - mean) <= half))
