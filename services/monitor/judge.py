"""Judges windows: exactly where all their units are held, in panes otherwise; anew only where something changed.

Judging exactly takes time in proportion to the units; a stream's windows get a tenth of one core at most, so that large
ones are judged every few seconds. Each judgement says to which moment it belongs.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.estimation.figures import WhatIf
from models.estimation.sketch import Sketch
from models.estimation.weights import Estimator
from services.monitor.baseline import Baselines, Normal, Promised
from services.monitor.estimates import by_panes, exactly
from services.monitor.judgement import Drift, Judgement, Risk
from services.monitor.obstacles import Obstacles, Obstructing
from services.monitor.spans import Span
from services.monitor.stream import SOURCES, Stream
from services.monitor.units import Key
from services.runtime.errors import InvalidInput, NotFound

LAST = "last"
"""Name of the window by count."""
_DUTY = 0.1
"""Share of a core for judging what changes all the time."""
_LONGEST_SECONDS = 15.0
"""Between two judgements of a window that changes, however long they take."""
_AGEING_SECONDS = 5.0
"""A window with labels on their way changes by time alone; it is judged anew so often."""


@dataclass(frozen=True, slots=True)
class Options:
    """How windows are judged."""

    spans: tuple[Span, ...]
    last_units: int
    """Units of the window by count."""
    exact_units: int
    """Windows by time of up to so many units are judged exactly."""
    estimator: Estimator = "aipw"
    alpha: float = 0.05
    """Probability of a false alarm of drift and of risk, ever, for each stream."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement, and what a what-if is made of."""

    judgement: Judgement
    what_if: Callable[[Sequence[float]], WhatIf | None]
    sketch: Callable[[], Sketch]
    settled: bool
    """Whether time alone changes nothing."""

    def against(self, normal: Normal | Promised | None) -> Judged:
        """The same, held against what is normal."""
        judgement = self.judgement
        baseline = normal.baseline(judgement.judged) if normal is not None and judgement.judged else None
        if baseline == judgement.baseline:
            return self
        return replace(self, judgement=replace(judgement, baseline=baseline))


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer to a what-if."""

    judgement: Judgement
    found: WhatIf


@dataclass(slots=True)
class _Kept:
    state: tuple[object, ...]
    judged: Judged
    seconds: float
    when: float


class Windows(Protocol):
    """Judged windows, by the words of a query."""

    def judged(self, wanted: Mapping[str, str]) -> Judged: ...

    def what_if(self, wanted: Mapping[str, str], thresholds: Sequence[float]) -> Asked: ...


class Judge:
    """Judges the windows of all streams, and keeps what has not changed."""

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: of the time that judging takes, seconds.
        """
        self._options, self._clock = options, clock
        self._kept: dict[tuple[Key, str, str], _Kept] = {}
        self._baselines = Baselines(options.estimator, clock)
        self._lock = threading.Lock()

    def forget(self) -> None:
        """Judges all anew."""
        with self._lock:
            self._kept.clear()
        self._baselines.forget()

    def all(
        self,
        streams: Mapping[Key, Stream],
        now: float,
        until: float,
        obstacles: Obstructing,
    ) -> tuple[Judgement, ...]:
        """All windows of all streams.

        Args:
            now: seconds since 1970.
            until: up to when the ledgers are complete.
            obstacles: of a task, for a window between two moments.
        """
        found = []
        for stream in streams.values():
            sources = SOURCES if stream.census() else SOURCES[:1]
            for source in sources:
                normal = self._baselines.of(stream, source, now, until, obstacles)
                for span in (*self._options.spans, None):
                    found.append(self._one(stream, source, span, now, until, obstacles, normal).judgement)
        return tuple(found)

    def _one(
        self,
        stream: Stream,
        source: str,
        span: Span | None,
        now: float,
        until: float,
        obstacles: Obstructing,
        normal: Normal | Promised | None,
    ) -> Judged:
        key, name = stream.profile.key, LAST if span is None else span.name
        start = self._start(stream, span, now)
        against = obstacles(key.task, start, now)
        state = (stream.changes, start, against)
        kept = self._kept.get((key, name, source))
        begin = self._clock()
        if kept is not None:
            waits = min(kept.seconds / _DUTY * len(self._kept), _LONGEST_SECONDS)
            same = kept.state == state and (kept.judged.settled or begin - kept.when < _AGEING_SECONDS)
            early = kept.state[2] == against and begin - kept.when < waits
            if same or early:
                kept.judged = kept.judged.against(normal)
                return kept.judged
        judged = self._judge(stream, source, span, start, (until, now), against).against(normal)
        end = self._clock()
        with self._lock:
            self._kept[key, name, source] = _Kept(state, judged, end - begin, end)
        return judged

    def judged(self, wanted: Mapping[str, str]) -> Judged:
        """The window that these words choose, the only one or the window by count where they leave it open.

        Raises:
            NotFound: there is none.
            InvalidInput: there are several.
        """
        with self._lock:
            found = {place: kept.judged for place, kept in self._kept.items()}
        for name, place in (("task", 0), ("head", 1), ("model", 2)):
            if wanted.get(name):
                found = {key: one for key, one in found.items() if key[0][place] == wanted[name]}
        window, source = wanted.get("window") or LAST, wanted.get("source") or SOURCES[0]
        found = {key: one for key, one in found.items() if key[1:] == (window, source)}
        if not found:
            words = ", ".join(f"{name} {value}" for name, value in wanted.items() if value)
            raise NotFound(
                f"there is no window of {words or 'any stream'} yet; /v1/live lists what there is", code="no_window"
            )
        newest = max(found.values(), key=lambda one: one.judgement.end)
        if len({key[0][:2] for key in found}) > 1:
            heads = "; ".join(sorted({f"task={key[0].task}&head={key[0].head}" for key in found}))
            raise InvalidInput(
                f"several heads fit; say which: {heads}", code="several_heads", field="head", allowed=heads
            )
        return newest

    def what_if(self, wanted: Mapping[str, str], thresholds: Sequence[float]) -> Asked:
        """What other thresholds would have meant in a window, from the same labels.

        Raises:
            NotFound, InvalidInput: as ``judged``; nothing can be said without labels.
        """
        one = self.judged(wanted)
        found = one.what_if(thresholds)
        if found is None:
            raise NotFound("this window has no units to judge by yet", code="no_units")
        return Asked(one.judgement, found)

    def _start(self, stream: Stream, span: Span | None, now: float) -> float:
        if span is not None:
            return float(span.start(now))
        units = stream.recent.newest(self._options.last_units)
        return float(units.time[0]) if len(units) else now

    def _judge(
        self, stream: Stream, source: str, span: Span | None, start: float, end: tuple[float, float], against: Obstacles
    ) -> Judged:
        """One window; ``end`` is up to when units count, and the moment at which labels were looked for."""
        name = LAST if span is None else span.name
        options = self._options
        units = stream.recent.newest(options.last_units) if span is None else stream.recent.since(start)
        lost = against.lost
        if units is not None and (span is None or len(units) <= options.exact_units):
            found = exactly(stream, source, units, end[1], options.estimator, lost)
        else:
            found = by_panes(stream, source, start, end[1], options.estimator, lost)
        reasons = tuple((reason.word, f"{reason.text[:1].upper()}{reason.text[1:]}.") for reason in found.gates.reasons)
        if against.lost:
            why = ", ".join(dict.fromkeys(against.why))
            least = "At least " if against.more else ""
            reasons = tuple((word, f"{least}{text[:-1]} ({why})." if word == "gap" else text) for word, text in reasons)
        judgement = Judgement(
            key=stream.profile.key,
            window=name,
            source=source,
            start=start,
            end=end[0],
            mode=found.mode,
            estimator=options.estimator,
            units=found.units,
            answered=found.answered,
            judged=found.judged,
            labels=found.labels,
            effective_samples=found.gates.ess,
            figures=found.figures,
            references=found.references,
            error_curve=found.error_curve,
            f1_curve=found.f1_curve,
            completion=found.completion,
            drift=self._drift(stream, found.scores),
            risk=self._risk(stream, source),
            reasons=(*against.reasons, *reasons),
        )
        return Judged(judgement, found.what_if, found.sketch, found.settled)

    def _drift(self, stream: Stream, scores: NDArray[np.int64]) -> Drift:
        if stream.scores is None:
            return Drift(math.nan, math.nan, 0.0, False)
        shift = stream.scores.shift(scores)
        return Drift(shift.psi, shift.expected, stream.scores.log_wealth, stream.scores.alarm(self._options.alpha))

    def _risk(self, stream: Stream, source: str) -> Risk:
        risk = stream.risks[source]
        return Risk(risk.log_wealth, risk.alarm(self._options.alpha), risk.baseline)
