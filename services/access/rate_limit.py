"""Rate limits of tokens: a token bucket that may be overdrawn once, since the size of a call is not known before."""

import math
from collections.abc import Callable
from typing import Protocol

from services.access.tokens import Token


class Bucket:
    """Token bucket that fills by ``rate`` per second up to ``burst``; above zero, any amount may be taken.

    So a call larger than the burst is possible; the next one waits until the level is above zero again. Each process
    has its own bucket.
    """

    __slots__ = ("_burst", "_level", "_rate", "_time")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        """
        Args:
            rate: per second, above 0.
            burst: above 0; where the level starts.
            now: seconds of a clock that never goes back.
        """
        if not (rate > 0 and burst > 0 and math.isfinite(rate) and math.isfinite(burst)):
            raise ValueError(f"rate = {rate}, burst = {burst}: must be finite numbers above 0")
        self._rate, self._burst = rate, burst
        self._level, self._time = burst, now

    def wait(self, now: float) -> float:
        """Return the seconds until something can be taken; 0: at once."""
        self._fill(now)
        return 0.0 if self._level > 0 else (-self._level + _LEAST) / self._rate

    def take(self, amount: float, now: float) -> None:
        """Take an amount, whatever the level."""
        self._fill(now)
        self._level -= amount

    def take_whole(self, now: float) -> float:
        """Take one if there is a whole one, and return 0; else return the seconds until there is."""
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
"""Tolerance for rounding of sums."""


class Counts(Protocol):
    """Observer of refused calls."""

    def refused(self, reason: str) -> None: ...

    def limited(self, name: str, limit: str) -> None: ...


class Meter:
    """Calls and units that the tokens of one name may still use."""

    def __init__(self, token: Token, monotonic: Callable[[], float], counts: Counts) -> None:
        self.limits = (token.requests_per_second, token.burst, token.units_per_second)
        self._name, self._monotonic, self._counts = token.name, monotonic, counts
        calls, burst, units = self.limits
        now = monotonic()
        self._calls = None if calls is None else Bucket(calls, burst or max(1.0, calls), now)
        self._units = None if units is None else Bucket(units, units, now)

    def call(self) -> float:
        """Take a call and return 0; else return the seconds until there is one."""
        if self._calls is None:
            return 0.0
        wait = self._calls.take_whole(self._monotonic())
        if wait:
            self._counts.limited(self._name, "calls")
        return wait

    def units(self, count: int) -> float:
        """Take units and return 0; else return the seconds after which to retry."""
        if self._units is None:
            return 0.0
        now = self._monotonic()
        wait = self._units.wait(now)
        if wait:
            self._counts.limited(self._name, "units")
        else:
            self._units.take(count, now)
        return wait
