"""Which R-AUC is normal for a stream: what its artefact tells, or what its first day shows.

Nothing is remembered: from the same ledgers every monitor finds the same, however often it was started. While a stream
is younger than two days, up to the first half of its life stands for the first day.

A window's own interval is about its own units: with all labels there it has no width. Two windows of one stream differ
all the same, so that a baseline is as wide as what another window of so many units would be off by.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from models.estimation.figures import View, live_figures
from models.estimation.intervals import Scale, interval
from models.estimation.weights import Estimator
from services.monitor.estimates import by_panes
from services.monitor.judgement import Baseline
from services.monitor.obstacles import Obstructing
from services.monitor.spans import DAY, LONGEST, MINUTE
from services.monitor.stream import Stream
from services.monitor.units import Key

_STEPS = (*(MINUTE * 2**power for power in range(11)), *(DAY * 2**power for power in range(5)), LONGEST)
"""Lengths of time that are tried, seconds."""
_DUTY = 0.02
"""Share of a core for looking again while labels come."""
_SOONEST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Normal:
    """R-AUC of the first day, as one of the windows that the stream could have had."""

    estimate: float
    variance: float
    """Of the estimate, over what labels were drawn and over what units came."""
    unit_variance: float
    """What the mean over n other units has n times the variance of."""
    t: float
    sampled: float
    scale: Scale

    @classmethod
    def of(cls, view: View) -> Normal:
        """From units that can be believed."""
        own, wide = live_figures(view).r_auc, live_figures(view, "population").r_auc
        t = view.errors.t(view.errors.ladder.area_coefficients(view.rules.area))
        unit_variance = max(wide.se**2 - own.se**2, 0.0) * view.n
        return cls(wide.estimate, wide.se**2, unit_variance, t, view.sampled, view.scale)

    def baseline(self, units: int) -> Baseline:
        """For a window of so many units."""
        se = math.sqrt(self.variance + self.unit_variance / units)
        found = interval(self.estimate, se, self.t, self.sampled, self.scale)
        return Baseline(found.low, found.high, "first_day")


@dataclass(frozen=True, slots=True)
class Promised:
    """What the artefact tells."""

    low: float
    high: float

    def baseline(self, units: int) -> Baseline:
        """For a window of any number of units."""
        return Baseline(self.low, self.high, "artefact")


@dataclass(slots=True)
class _Kept:
    changes: int
    found: Normal | None
    again: float
    """When to look again at the earliest, on the clock of judging."""


class Baselines:
    """The baselines of all streams, looked for anew where labels have changed, in a small share of the time."""

    def __init__(self, estimator: Estimator, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: of the time that judging takes, seconds.
        """
        self._estimator, self._clock = estimator, clock
        self._kept: dict[tuple[Key, str], _Kept] = {}

    def forget(self) -> None:
        """Looks for all anew."""
        self._kept.clear()

    def of(
        self, stream: Stream, source: str, now: float, until: float, obstacles: Obstructing
    ) -> Normal | Promised | None:
        """Which R-AUC is normal by the labels of a source; None where nothing can be said yet.

        Args:
            now: seconds since 1970.
            until: up to when the ledgers are complete.
        """
        if stream.profile.baseline is not None:
            return Promised(*stream.profile.baseline)
        place, begin = (stream.profile.key, source), self._clock()
        kept = self._kept.get(place)
        if kept is not None and (kept.changes == stream.changes or begin < kept.again):
            return kept.found
        found = self._first_day(stream, source, now, until, obstacles)
        end = self._clock()
        wait = max((end - begin) / _DUTY, _SOONEST_SECONDS)
        self._kept[place] = _Kept(stream.changes, found, end + wait)
        return found

    def _first_day(
        self, stream: Stream, source: str, now: float, until: float, obstacles: Obstructing
    ) -> Normal | None:
        """Of the longest time within the first day that can be believed; else of the shortest one beyond it."""
        panes = sorted((begin, end) for begin, end, _ in stream.panes.since(-math.inf) if end <= until)
        while panes:
            start = panes[0][0]
            clear = start
            for end in _ends(start, [end for _, end in panes], now):
                against = obstacles(stream.profile.key.task, start, end)
                if against.reasons:
                    return None
                if against.lost:
                    clear = max(clear, against.until)
                    continue
                judged = by_panes(stream, source, start, now, self._estimator, 0, end)
                if judged.gates.valid and "r_auc" in judged.figures:
                    with np.errstate(all="ignore"):  # figures that do not exist are NaN, and are left out
                        return Normal.of(judged.sketch().view(self._estimator, stream.profile.rules))
            if clear == start:
                return None
            panes = [pane for pane in panes if pane[0] >= clear]
        return None


def _ends(start: float, ends: Sequence[float], now: float) -> list[float]:
    """Ends of the times to be tried, the best first: from the longest within the first day down, then longer ones."""
    reached = (max((end for end in ends if end <= start + step), default=start) for step in _STEPS)
    found = [end for end in dict.fromkeys(reached) if end > start]
    limit = start + min((now - start) / 2, DAY)
    return [end for end in reversed(found) if end <= limit] + [end for end in found if end > limit]
