"""Normal R-AUC of a stream: declared by its artefact, or estimated from its first day.

The state is only a cache: from the same ledgers every monitor gets the same baseline, regardless of restarts. While a
stream is younger than two days, up to the first half of its life is used instead of the first day.

A window's own interval applies to its own units: with all labels it has no width. Two windows of one stream still
differ, so a baseline is as wide as the deviation of another window with the same number of units.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models.estimation.figures import View, live_figures
from models.estimation.intervals import Scale, interval
from models.estimation.weights import Estimator
from models.live.invalidity import InvalidityOf
from models.live.stream import Stream
from models.live.time_buckets import DAY, LONGEST, MINUTE
from models.live.units import StreamKey
from models.live.window_figures import bucket_figures

_STEPS = (*(MINUTE * 2**power for power in range(11)), *(DAY * 2**power for power in range(5)), LONGEST)
"""Lengths of time that are tried, seconds."""
_DUTY = 0.02
"""Share of a core for new estimates while labels arrive."""
_SOONEST_SECONDS = 5.0


class BaselineInterval(NamedTuple):
    """Interval of normal R-AUC."""

    low: float
    high: float
    origin: str
    """``artefact``, or ``first_day`` of the stream."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """Normal R-AUC of a stream, with the variance between its windows."""

    estimate: float
    variance: float
    """Variance of the estimate, over the draw of labels and of units."""
    unit_variance: float
    """Variance of the mean over n other units, times n."""
    t: float
    sampled: float
    scale: Scale

    @classmethod
    def from_view(cls, view: View) -> Baseline:
        """Estimate from the units of a valid window."""
        own, wide = live_figures(view).r_auc, live_figures(view, "population").r_auc
        t = view.errors.t(view.errors.ladder.area_coefficients(view.rules.area))
        unit_variance = max(wide.se**2 - own.se**2, 0.0) * view.n
        return cls(wide.estimate, wide.se**2, unit_variance, t, view.sampled, view.scale)

    def interval(self, units: int) -> BaselineInterval:
        """Return the interval for a window of ``units`` units."""
        se = math.sqrt(self.variance + self.unit_variance / units)
        bounds = interval(self.estimate, se, self.t, self.sampled, self.scale)
        return BaselineInterval(bounds.low, bounds.high, "first_day")


@dataclass(slots=True)
class _Kept:
    changes: int
    baseline: Baseline | None
    again: float
    """Earliest time of the next estimate, on the clock of the estimates."""


class Baselines:
    """Baselines of all streams, re-estimated after changes of labels, with a small share of the time."""

    def __init__(self, estimator: Estimator, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: clock of the estimates' duration, seconds.
        """
        self._estimator, self._clock = estimator, clock
        self._kept: dict[tuple[StreamKey, str], _Kept] = {}

    def forget(self) -> None:
        """Drop all estimates."""
        self._kept.clear()

    def find(
        self, stream: Stream, source: str, now: float, until: float, invalidity_of: InvalidityOf
    ) -> Callable[[int], BaselineInterval] | None:
        """Return a function from a number of units to the interval of normal R-AUC; None while it is unknown.

        Args:
            now: seconds since 1970.
            until: time up to which the ledgers are complete, seconds since 1970.
        """
        if stream.profile.baseline is not None:
            declared = BaselineInterval(*stream.profile.baseline, "artefact")
            return lambda units: declared
        place, begin = (stream.profile.key, source), self._clock()
        kept = self._kept.get(place)
        if kept is None or (kept.changes != stream.changes and begin >= kept.again):
            baseline = self._first_day(stream, source, now, until, invalidity_of)
            end = self._clock()
            again = end + max((end - begin) / _DUTY, _SOONEST_SECONDS)
            kept = self._kept[place] = _Kept(stream.changes, baseline, again)
        return None if kept.baseline is None else kept.baseline.interval

    def _first_day(
        self, stream: Stream, source: str, now: float, until: float, invalidity_of: InvalidityOf
    ) -> Baseline | None:
        """Estimate from the longest valid time within the first day; else from the shortest one beyond it."""
        buckets = sorted((begin, end) for begin, end, _ in stream.buckets.since(-math.inf) if end <= until)
        while buckets:
            start = buckets[0][0]
            clear = start
            for end in _ends(start, [end for _, end in buckets], now):
                invalidity = invalidity_of(stream.profile.key.task, start, end)
                if invalidity.reasons:
                    return None
                if invalidity.lost:
                    clear = max(clear, invalidity.until)
                    continue
                window = bucket_figures(stream, source, start, now, self._estimator, 0, end)
                if window.gates.valid and "r_auc" in window.figures:
                    with np.errstate(all="ignore"):  # figures that do not exist are NaN, and are left out
                        return Baseline.from_view(window.sketch().view(self._estimator, stream.profile.rules))
            if clear == start:
                return None
            buckets = [bucket for bucket in buckets if bucket[0] >= clear]
        return None


def _ends(start: float, ends: Sequence[float], now: float) -> list[float]:
    """Return ends of the times to try, best first: from the longest within the first day down, then longer ones."""
    reached = (max((end for end in ends if end <= start + step), default=start) for step in _STEPS)
    candidates = [end for end in dict.fromkeys(reached) if end > start]
    limit = start + min((now - start) / 2, DAY)
    return [end for end in reversed(candidates) if end <= limit] + [end for end in candidates if end > limit]
