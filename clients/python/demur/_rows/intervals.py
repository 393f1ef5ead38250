"""Tables of calibrated intervals: constants of the artefact that a service answers with."""

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from demur._errors import wrong_argument
from demur._messages import malformed


@dataclass(frozen=True, slots=True)
class Intervals:
    """Calibrated multipliers of the predictive standard deviation, by level of a central interval."""

    levels: tuple[float, ...]
    multipliers: tuple[float, ...]

    def multiplier(self, level: float) -> float:
        """Return the multiplier of any level in (0, 1), linear between tabulated ones, Gaussian without a table.

        The true multiplier is convex in the level for the usual shapes of error, so that a line between two
        levels, or between the mean (level 0) and the first, errs on the wide side.

        Raises:
            InvalidInput: outside (0, 1), or above the highest calibrated level.
        """
        if not 0 < level < 1:
            raise wrong_argument("level", level, "(0, 1)")
        if not self.levels:
            return NormalDist().inv_cdf((1 + level) / 2)
        top = self.levels[-1]
        if level > top + 1e-6:  # levels travel as float32
            raise wrong_argument("level", level, f"(0, {top:g}], the calibrated levels")
        return float(np.interp(level, (0.0, *self.levels), (0.0, *self.multipliers)))


NO_INTERVALS = Intervals((), ())


def decode_intervals(message: Any) -> Intervals:
    """Decode a table; equal tables are one object.

    Raises:
        ServiceFailure: it has more levels than multipliers, or fewer.
    """
    return _intervals(tuple(message.levels), tuple(message.multipliers))


@lru_cache(maxsize=8)
def _intervals(levels: tuple[float, ...], multipliers: tuple[float, ...]) -> Intervals:
    if len(levels) != len(multipliers):
        raise malformed(f"{len(multipliers)} interval multipliers for {len(levels)} levels")
    return Intervals(levels, multipliers)
