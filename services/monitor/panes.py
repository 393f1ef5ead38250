"""A stream in panes of time: a minute, an hour, a day each, which add up to windows of up to thirty days.

Young panes are minutes; an hour that no window needs by the minute becomes one pane, and so does a day. Which pane a
unit belongs to depends on when it was decided and on the clock alone, so that a monitor that starts anew has the same
panes. Labels go to the pane of their unit, whenever they come.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.drift.bins import Bins
from models.estimation.edges import Edges
from models.estimation.sketch import Sketch
from services.monitor.spans import DAY, HOUR, LONGEST, MINUTE
from services.monitor.units import Doubles, Labels, Longs, Units


@dataclass(frozen=True)
class Form:
    """How a stream is counted; panes of one form add up."""

    edges: Edges
    acceptable: float | None
    strict: bool
    bins: Bins | None
    """Of the drift figures."""

    def sketch(self) -> Sketch:
        """An empty one."""
        return Sketch(self.edges, self.acceptable, strict=self.strict)

    def pane(self) -> Pane:
        """An empty one."""
        bins = 0 if self.bins is None else len(self.bins)
        return Pane(np.zeros((2, len(self.edges)), np.int64), np.zeros(bins, np.int64))


@dataclass
class Pane:
    """The units decided in one stretch of time, and the moments of their labels by source."""

    units: Longs
    """By plane (answered, deferred) and bin of the sketch [2, B]."""
    scores: Longs
    """By bin of the drift figures [bins]."""
    never: int = 0
    """Units without a propensity above 0: no label can stand for them."""
    draws: Doubles = field(default_factory=lambda: np.zeros(3))
    """Of units whose request is a matter of chance: expected requests, their variance, and requests."""
    covered: int = 0
    """Of those units that never get a request: how many a census will tell of."""
    labels: dict[str, Sketch] = field(default_factory=dict)

    def count(self, other: Pane) -> None:
        """Adds the units of another pane."""
        self.units += other.units
        self.scores += other.scores
        self.never += other.never
        self.covered += other.covered
        self.draws += other.draws

    def add(self, other: Pane, form: Form) -> None:
        """Adds the units and the labels of another pane."""
        self.count(other)
        for source, sketch in other.labels.items():
            self.of(source, form).merge(sketch)

    def of(self, source: str, form: Form) -> Sketch:
        """The labels of a source."""
        if source not in self.labels:
            self.labels[source] = form.sketch()
        return self.labels[source]


class Panes:
    """The panes of one stream."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self._panes: dict[int, dict[int, Pane]] = {MINUTE: {}, HOUR: {}, DAY: {}}
        self._minutes_from = self._hours_from = self._days_from = -math.inf
        self.late: Counter[str] = Counter()
        """Labels of units that were decided before all panes, by source."""

    def __len__(self) -> int:
        return sum(len(level) for level in self._panes.values())

    def advance(self, now: float) -> None:
        """Makes panes of minutes and hours one where no window needs them apart, and drops what is over."""
        # whole hours, and whole days, that end before the oldest minute, and hour, that a window begins with
        minutes = math.floor((now - HOUR) / MINUTE) * MINUTE // HOUR * HOUR
        hours = min(math.floor((now - DAY) / HOUR) * HOUR, minutes) // DAY * DAY
        days = math.floor((now - LONGEST) / DAY) * DAY
        if minutes <= self._minutes_from:
            return
        self._minutes_from, self._hours_from, self._days_from = minutes, hours, days
        for step, panes in self._panes.items():
            for start in [start for start in panes if self._home(start)[0] != step or start < days]:
                pane = panes.pop(start)
                if start >= days:
                    self._at(*self._home(start)).add(pane, self.form)

    def add_units(self, units: Units) -> None:
        """Counts units; those decided before all panes are left out."""
        units = units.take(units.time >= self._days_from)
        for part, (step, start) in self._parts(units.time):
            chosen = units.take(part)
            pane, answered = self._at(step, start), chosen.answered
            places = self.form.edges.bins(chosen.uncertainty) + pane.units.shape[1] * ~answered
            pane.units += np.bincount(places, minlength=pane.units.size).reshape(2, -1)
            p = chosen.propensity
            pane.never += int((~_likely(p)).sum())
            p = p[(p > 0) & (p < 1)]
            pane.draws[:2] += float(p.sum()), float((p * (1 - p)).sum())
            if self.form.bins is not None:
                pane.scores += self.form.bins.count(chosen.uncertainty)

    def add_requests(self, units: Units) -> None:
        """Counts units that a label is asked for by chance."""
        units = units.take((units.propensity < 1) & (units.time >= self._days_from))
        for part, place in self._parts(units.time):
            self._at(*place).draws[2] += len(units.time[part])

    def add_census(self, units: Units) -> None:
        """Counts units that a census will tell of, where nothing else would."""
        units = units.take(~_likely(units.propensity) & (units.time >= self._days_from))
        for part, place in self._parts(units.time):
            self._at(*place).covered += len(units.time[part])

    def add_labels(self, source: str, labels: Labels) -> None:
        """Adds the errors of units, into the panes of their decisions."""
        self._label(source, labels, add=True)

    def remove_labels(self, source: str, labels: Labels) -> None:
        """Takes away errors as they were added."""
        self._label(source, labels, add=False)

    def since(self, start: float) -> Iterator[tuple[float, float, Pane]]:
        """Begin and end of the panes from a moment on, which is the begin of one, and the panes."""
        for step, panes in self._panes.items():
            for begin, pane in panes.items():
                if begin >= start:
                    yield begin, begin + step, pane

    def _label(self, source: str, labels: Labels, *, add: bool) -> None:
        # a propensity that is none cannot be weighted: gates speak of it
        known = labels.take(_likely(labels.propensity))
        kept = known.take(known.time >= self._days_from)
        if add and len(kept) < len(known):
            self.late[source] += len(known) - len(kept)
        for part, (step, start) in self._parts(kept.time):
            one = kept.take(part)
            sketch = self._at(step, start).of(source, self.form)
            change = sketch.add_labels if add else sketch.remove_labels
            change(one.uncertainty, one.answered, one.error, one.propensity)

    def _parts(self, time: Doubles) -> Iterator[tuple[NDArray[np.intp] | slice, tuple[int, int]]]:
        """Units [n] by pane: mostly one pane, or neighbouring ones."""
        if not len(time):
            return
        moment = np.floor(time).astype(np.int64)
        step = np.where(moment >= self._minutes_from, MINUTE, np.where(moment >= self._hours_from, HOUR, DAY))
        start = moment // step * step
        order = None if (np.diff(start) >= 0).all() else np.argsort(start, kind="stable")
        if order is not None:
            start, step = start[order], step[order]
        ends = [*(np.flatnonzero(np.diff(start)) + 1).tolist(), len(start)]
        begin = 0
        for end in ends:
            part = slice(begin, end) if order is None else order[begin:end]
            yield part, (int(step[begin]), int(start[begin]))
            begin = end

    def _home(self, minute: int) -> tuple[int, int]:
        """Step and begin of the pane that a minute belongs to."""
        step = MINUTE if minute >= self._minutes_from else HOUR if minute >= self._hours_from else DAY
        return step, minute // step * step

    def _at(self, step: int, start: int) -> Pane:
        panes = self._panes[step]
        if start not in panes:
            panes[start] = self.form.pane()
        return panes[start]


def _likely(propensity: Doubles) -> NDArray[np.bool_]:
    """Where it is a probability that weighs [n]."""
    found: NDArray[np.bool_] = (propensity > 0) & (propensity <= 1)
    return found


def total(panes: Sequence[Pane], form: Form) -> Pane:
    """The units of panes, without their labels; the panes stay as they are."""
    whole = form.pane()
    for pane in panes:
        whole.count(pane)
    return whole
