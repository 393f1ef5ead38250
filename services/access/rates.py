"""How often somebody may ask: a token bucket that may be overdrawn once, since a call's size is not known before."""

from __future__ import annotations

import math


class Bucket:
    """Fills by ``rate`` a second up to ``burst``; who finds it above zero may take any amount, and pays later.

    So a call larger than the burst is possible, and waits for its debt to be paid before the next. One bucket is for
    one process: replicas each have their own.
    """

    __slots__ = ("_burst", "_level", "_rate", "_time")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        """
        Args:
            rate: a second, above 0.
            burst: above 0; where the level starts.
            now: seconds of a clock that never goes back.
        """
        if not (rate > 0 and burst > 0 and math.isfinite(rate) and math.isfinite(burst)):
            raise ValueError(f"rate = {rate}, burst = {burst}: finite numbers above 0 are needed")
        self._rate, self._burst = rate, burst
        self._level, self._time = burst, now

    def wait(self, now: float) -> float:
        """Seconds until something can be taken; 0: at once."""
        self._fill(now)
        return 0.0 if self._level > 0 else (-self._level + _LEAST) / self._rate

    def take(self, amount: float, now: float) -> None:
        """Takes, whatever is there."""
        self._fill(now)
        self._level -= amount

    def take_whole(self, now: float) -> float:
        """Takes one if there is a whole one; else takes nothing, and says in how many seconds there will be."""
        self._fill(now)
        if self._level >= 1 - _LEAST:
            self._level -= 1
            return 0.0
        return (1 - self._level) / self._rate

    def _fill(self, now: float) -> None:
        if now > self._time:
            self._level = min(self._burst, self._level + (now - self._time) * self._rate)
            self._time = now


_LEAST = 1e-9
"""Of sums of floats."""
