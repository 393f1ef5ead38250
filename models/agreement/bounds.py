"""Figures with their intervals, and intervals of functions of two of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
"""Default level of intervals, that of all live figures."""


@dataclass(frozen=True)
class Bounds:
    """Figure with an interval. A missing figure is NaN; an end that the data do not limit is that of the range."""

    mean: float
    lower: float
    upper: float

    def scaled(self, factor: float) -> Bounds:
        """Return the bounds of a multiple; ``factor`` is at least 0."""
        return Bounds(self.mean * factor, self.lower * factor, self.upper * factor)


def check_level(level: float) -> None:
    """Raise ValueError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"level = {level:g}: must be a probability above 0 and below 1, such as 0.95")


def square_and_add(figure: Callable[[float, float], float], one: Bounds, other: Bounds) -> Bounds:
    """Return bounds of a monotone function of two independent figures: method of variance estimates recovery (MOVER).

    Each end moves away from the figure f by the root of the sum of two squares, f's change as either argument alone
    goes to the end of its own interval. For sums that is Zou & Donner 2008 (Statistics in Medicine 27:1693); it keeps
    skewed intervals skewed, and is exact for normal estimates.

    Args:
        figure: function of both figures, monotone in each over the two intervals.
    """
    centre = figure(one.mean, other.mean)
    ends = np.array(
        [
            [figure(one.lower, other.mean), figure(one.upper, other.mean)],
            [figure(one.mean, other.lower), figure(one.mean, other.upper)],
        ]
    )
    if math.isnan(centre) or np.isnan(ends).any():
        return Bounds(centre, math.nan, math.nan)
    below = np.maximum(centre - ends.min(axis=1), 0.0)
    above = np.maximum(ends.max(axis=1) - centre, 0.0)
    return Bounds(centre, centre - math.hypot(*below), centre + math.hypot(*above))
