"""Positions as callers give them: arrays, or lists in which unknown steps are None."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from demur._errors import wrong_argument

UNKNOWN = (np.nan, np.nan)


def positions(value: Any, name: str) -> NDArray[np.float64]:
    """Points in m, float64 [..., 2]; NaN where a step is None, NaN or masked.

    Raises:
        InvalidInput: it is neither an array [..., 2] of numbers nor a list of pairs and None.
    """
    try:
        if isinstance(value, (list, tuple)):
            value = [UNKNOWN if step is None else step for step in value]
        found = np.ma.filled(np.ma.asarray(value, np.float64), np.nan)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim < 1 or found.shape[-1] != 2:
        raise wrong_argument(name, _shown(value), "positions [T, 2] in m, None or NaN where a step is not known")
    return found


def _shown(value: Any) -> Any:
    return f"an array {list(value.shape)}" if isinstance(value, np.ndarray) else value
