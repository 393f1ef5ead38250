"""Ends of axes that can be drawn whatever the data are: finite, apart, and within what drawing can divide by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e300
"""Values beyond it are drawn as infinite ones are: not at all."""
_NARROWEST = 1e-290
_APART = 1e-9
"""Ends closer than this share of their size would be labelled alike."""


def drawn(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The values as float64, NaN where they are too large to be drawn."""
    known = np.asarray(values, np.float64)
    return np.where(np.abs(known) <= LARGEST, known, np.nan)


def apart(low: float, high: float) -> tuple[float, float]:
    """The two ends as they are, or moved apart around them by half of their size where they are equal or nearly so."""
    low, high = (min(max(end, -LARGEST), LARGEST) for end in (low, high))
    size = max(abs(low), abs(high))
    if high - low > max(_APART * size, _NARROWEST):
        return low, high
    room = size / 2 if size > _NARROWEST else 0.5
    return low - room, high + room
