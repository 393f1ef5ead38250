"""Units and labels of a stream in buckets of a minute, an hour or a day, which can be summed to windows of up to 30
days.

Recent buckets are minutes; an hour becomes one bucket as soon as no window needs its minutes, and so does a day. The
bucket of a unit depends on its decision time and on the clock alone, so a restarted monitor has the same buckets.
Labels go to the bucket of their unit, at any age.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models.drift.bins import Bins
from models.estimation.edges import Edges
from models.estimation.sketch import Sketch
from models.live.units import Doubles, Labels, Longs, Units

MINUTE, HOUR, DAY = 60, 3600, 86400
LONGEST = 30 * DAY
"""Largest age of a bucket, in seconds."""


@dataclass(frozen=True)
class BucketLayout:
    """Bins in which a stream is counted; only buckets of one layout can be summed."""

    edges: Edges
    acceptable: float | None
    strict: bool
    bins: Bins | None
    """Bins of the drift figures."""

    def empty_sketch(self) -> Sketch:
        """Return a sketch without units."""
        return Sketch(self.edges, self.acceptable, strict=self.strict)

    def empty_bucket(self) -> Bucket:
        """Return a bucket without units."""
        bins = 0 if self.bins is None else len(self.bins)
        return Bucket(np.zeros((2, len(self.edges)), np.int64), np.zeros(bins, np.int64))

    def total(self, buckets: Iterable[Bucket]) -> Bucket:
        """Return the sum of the buckets' units, without their labels."""
        whole = self.empty_bucket()
        for bucket in buckets:
            whole.count(bucket)
        return whole


@dataclass
class Bucket:
    """Units decided in one stretch of time, and sketches of their labels by source."""

    units: Longs
    """Units by plane (answered, deferred) and bin of the sketch [2, B]."""
    scores: Longs
    """Units by bin of the drift figures [bins]."""
    never: int = 0
    """Number of units without a propensity above 0, which no label can represent."""
    draws: Doubles = field(default_factory=lambda: np.zeros(3))
    """Expected requests, their variance, and requests, over units that are requested at random."""
    covered: int = 0
    """Number of the ``never`` units that a census covers."""
    labels: dict[str, Sketch] = field(default_factory=dict)

    def count(self, other: Bucket) -> None:
        """Add the units of another bucket."""
        self.units += other.units
        self.scores += other.scores
        self.never += other.never
        self.covered += other.covered
        self.draws += other.draws

    def add(self, other: Bucket, layout: BucketLayout) -> None:
        """Add the units and the labels of another bucket."""
        self.count(other)
        for source, sketch in other.labels.items():
            self.sketch(source, layout).merge(sketch)

    def sketch(self, source: str, layout: BucketLayout) -> Sketch:
        """Return the sketch of a source's labels, created if missing."""
        if source not in self.labels:
            self.labels[source] = layout.empty_sketch()
        return self.labels[source]


class TimeBuckets:
    """All buckets of one stream."""

    def __init__(self, layout: BucketLayout) -> None:
        self.layout = layout
        self._buckets: dict[int, dict[int, Bucket]] = {MINUTE: {}, HOUR: {}, DAY: {}}
        self._minutes_from = self._hours_from = self._days_from = -math.inf
        self.late: Counter[str] = Counter()
        """Labels of units that were decided before all buckets, by source."""

    def __len__(self) -> int:
        return sum(len(level) for level in self._buckets.values())

    def advance(self, now: float) -> None:
        """Merge minutes into hours and hours into days if no window needs them; drop those over 30 days."""
        # whole hours and days that end before the oldest minute or hour at which a window begins
        minutes = math.floor((now - HOUR) / MINUTE) * MINUTE // HOUR * HOUR
        hours = min(math.floor((now - DAY) / HOUR) * HOUR, minutes) // DAY * DAY
        days = math.floor((now - LONGEST) / DAY) * DAY
        if minutes <= self._minutes_from:
            return
        self._minutes_from, self._hours_from, self._days_from = minutes, hours, days
        for step, buckets in self._buckets.items():
            for start in [start for start in buckets if self._home(start)[0] != step or start < days]:
                bucket = buckets.pop(start)
                if start >= days:
                    self._at(*self._home(start)).add(bucket, self.layout)

    def add_units(self, units: Units) -> None:
        """Count units; those decided before all buckets are left out."""
        units = units.take(units.time >= self._days_from)
        for rows, (step, start) in self._parts(units.time):
            part = units.take(rows)
            bucket = self._at(step, start)
            places = self.layout.edges.bins(part.uncertainty) + bucket.units.shape[1] * ~part.answered
            bucket.units += np.bincount(places, minlength=bucket.units.size).reshape(2, -1)
            p = part.propensity
            bucket.never += int((~_is_probability(p)).sum())
            p = p[(p > 0) & (p < 1)]
            bucket.draws[:2] += float(p.sum()), float((p * (1 - p)).sum())
            if self.layout.bins is not None:
                bucket.scores += self.layout.bins.count(part.uncertainty)

    def add_requests(self, units: Units) -> None:
        """Count units whose label was requested at random."""
        units = units.take((units.propensity < 1) & (units.time >= self._days_from))
        for rows, place in self._parts(units.time):
            self._at(*place).draws[2] += len(units.time[rows])

    def add_census(self, units: Units) -> None:
        """Count units that a census covers and requests cannot."""
        units = units.take(~_is_probability(units.propensity) & (units.time >= self._days_from))
        for rows, place in self._parts(units.time):
            self._at(*place).covered += len(units.time[rows])

    def add_labels(self, source: str, labels: Labels) -> None:
        """Add errors to the buckets of their units."""
        self._label(source, labels, add=True)

    def remove_labels(self, source: str, labels: Labels) -> None:
        """Remove errors as they were added."""
        self._label(source, labels, add=False)

    def since(self, start: float) -> Iterator[tuple[float, float, Bucket]]:
        """Yield start, end and bucket of all buckets from ``start`` on, which must be the start of one."""
        for step, buckets in self._buckets.items():
            for begin, bucket in buckets.items():
                if begin >= start:
                    yield begin, begin + step, bucket

    def _label(self, source: str, labels: Labels, *, add: bool) -> None:
        # labels without a probability cannot be weighted: the gates report them
        known = labels.take(_is_probability(labels.propensity))
        kept = known.take(known.time >= self._days_from)
        if add and len(kept) < len(known):
            self.late[source] += len(known) - len(kept)
        for rows, (step, start) in self._parts(kept.time):
            part = kept.take(rows)
            sketch = self._at(step, start).sketch(source, self.layout)
            change = sketch.add_labels if add else sketch.remove_labels
            change(part.uncertainty, part.answered, part.error, part.propensity)

    def _parts(self, time: Doubles) -> Iterator[tuple[NDArray[np.intp] | slice, tuple[int, int]]]:
        """Yield the rows of each bucket with its step and start, for decision times [n]."""
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
            rows = slice(begin, end) if order is None else order[begin:end]
            yield rows, (int(step[begin]), int(start[begin]))
            begin = end

    def _home(self, minute: int) -> tuple[int, int]:
        """Return step and start of the bucket that holds a minute."""
        step = MINUTE if minute >= self._minutes_from else HOUR if minute >= self._hours_from else DAY
        return step, minute // step * step

    def _at(self, step: int, start: int) -> Bucket:
        buckets = self._buckets[step]
        if start not in buckets:
            buckets[start] = self.layout.empty_bucket()
        return buckets[start]


def _is_probability(propensity: Doubles) -> NDArray[np.bool_]:
    """Return the mask of the propensities [n] in (0, 1], so that a label can be weighted by them."""
    valid: NDArray[np.bool_] = (propensity > 0) & (propensity <= 1)
    return valid
