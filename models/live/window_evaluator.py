"""Evaluation of all windows after changes: from every unit if all are held, else from buckets.

Exact evaluation takes time in proportion to the units. A stream's windows get at most a tenth of one core, so large
ones are evaluated every few seconds. Each result has the time to which it applies.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from models.agreement.human_error import HumanError
from models.estimation.weights import Estimator
from models.live.baseline import BaselineInterval, Baselines
from models.live.drift import DriftFigures, RiskFigures
from models.live.invalidity import Invalidity, InvalidityOf
from models.live.reviewer_figures import ReviewerFigures
from models.live.reviewers import HeadKey
from models.live.stream import Stream
from models.live.units import StreamKey
from models.live.window_figures import WindowFigures, bucket_figures, exact_figures
from models.live.windows import LAST, Span

_DUTY = 0.1
"""Share of a core for windows that change all the time."""
_LONGEST_SECONDS = 15.0
"""Longest time between two evaluations of a changing window, for any duration of an evaluation."""
_AGEING_SECONDS = 5.0
"""Time between evaluations of a window with late labels, which changes over time without new data."""
_NO_DRIFT = DriftFigures(math.nan, math.nan, 0.0, False)


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """Options of the evaluation of windows."""

    spans: tuple[Span, ...]
    last_units: int
    """Units of the window by count."""
    exact_units: int
    """Largest number of units of a window by time that is evaluated from every unit."""
    estimator: Estimator = "aipw"
    alpha: float = 0.05
    """Probability that a stream ever has a false alarm of drift, and of risk."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowResult(WindowFigures):
    """Result of one window of one stream, by the labels of one source."""

    key: StreamKey
    window: str
    """Name: ``1h``, or ``last`` for the last units by count."""
    source: str
    start: float
    """Start of the window, seconds since 1970."""
    end: float
    """Time up to which the ledgers are complete, seconds since 1970."""
    estimator: str
    drift: DriftFigures
    risk: RiskFigures
    reasons: tuple[tuple[str, str], ...] = ()
    """Reasons why the figures are not valid: a stable word and a sentence each."""
    baseline: BaselineInterval | None = None
    human_error: HumanError | None = None
    """Error of reviewers in ``system_error``; None: reviewers are taken to be right."""

    @property
    def valid(self) -> bool:
        """True if the figures are valid."""
        return not self.reasons


@dataclass(slots=True)
class _Kept:
    state: tuple[object, ...]
    result: WindowResult
    seconds: float
    when: float


class WindowEvaluator:
    """Evaluator of the windows of all streams, which keeps results that have not changed."""

    def __init__(self, options: EvaluationOptions, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            clock: clock of the evaluations' duration, seconds.
        """
        self._options, self._clock = options, clock
        self._kept: dict[tuple[StreamKey, str, str], _Kept] = {}
        self._baselines = Baselines(options.estimator, clock)

    def forget(self) -> None:
        """Drop all results."""
        self._kept.clear()
        self._baselines.forget()

    def evaluate(
        self,
        streams: Mapping[StreamKey, Stream],
        now: float,
        until: float,
        invalidity_of: InvalidityOf,
        reviewers: Mapping[HeadKey, ReviewerFigures] = MappingProxyType({}),
    ) -> tuple[WindowResult, ...]:
        """Return the results of all windows of all streams.

        Args:
            now: seconds since 1970.
            until: time up to which the ledgers are complete, seconds since 1970.
            reviewers: figures of reviewers by head.
        """
        results = []
        for stream in streams.values():
            for source in stream.sources:
                baseline = self._baselines.find(stream, source, now, until, invalidity_of)
                for span in (*self._options.spans, None):
                    result = self._current(stream, source, span, now, until, invalidity_of)
                    known = baseline(result.judged) if baseline is not None and result.judged else None
                    if known != result.baseline:
                        place = (result.key, result.window, source)
                        result = self._kept[place].result = replace(result, baseline=known)
                    people = reviewers.get((result.key.task, result.key.head))
                    if (None if people is None else people.human_error) != result.human_error:
                        place = (result.key, result.window, source)
                        result = self._kept[place].result = _with_reviewers(result, people)
                    results.append(result)
        return tuple(results)

    def _current(
        self, stream: Stream, source: str, span: Span | None, now: float, until: float, invalidity_of: InvalidityOf
    ) -> WindowResult:
        """Return the kept result of a window if it is still current or not due, else a new one."""
        name, first = LAST if span is None else span.name, self._start(stream, span, now)
        start = now if first is None else first
        invalidity = invalidity_of(stream.profile.key.task, start, now)
        state = (stream.changes, first, invalidity)
        place = (stream.profile.key, name, source)
        kept, begin = self._kept.get(place), self._clock()
        if kept is not None:
            waits = min(kept.seconds / _DUTY * len(self._kept), _LONGEST_SECONDS)
            same = kept.state == state and (kept.result.settled or begin - kept.when < _AGEING_SECONDS)
            if same or (kept.state[2] == invalidity and begin - kept.when < waits):
                return kept.result
        figures = self._figures(stream, source, span, start, now, invalidity.lost)
        alpha = self._options.alpha
        result = WindowResult(
            **{field.name: getattr(figures, field.name) for field in fields(figures)},
            key=stream.profile.key,
            window=name,
            source=source,
            start=start,
            end=until,
            estimator=self._options.estimator,
            drift=_NO_DRIFT if stream.scores is None else stream.scores.figures(figures.scores, alpha),
            risk=stream.risks[source].figures(alpha),
            reasons=(*invalidity.reasons, *_reasons(figures, invalidity)),
        )
        end = self._clock()
        self._kept[place] = _Kept(state, result, end - begin, end)
        return result

    def _start(self, stream: Stream, span: Span | None, now: float) -> float | None:
        """Return the start of a window; None for the last units where there are none."""
        if span is not None:
            return float(span.start(now))
        units = stream.recent.newest(self._options.last_units)
        return float(units.time[0]) if len(units) else None

    def _figures(
        self, stream: Stream, source: str, span: Span | None, start: float, now: float, lost: int
    ) -> WindowFigures:
        options = self._options
        units = stream.recent.newest(options.last_units) if span is None else stream.recent.since(start)
        if units is not None and (span is None or len(units) <= options.exact_units):
            return exact_figures(stream, source, units, now, options.estimator, lost)
        return bucket_figures(stream, source, start, now, options.estimator, lost)


def _reasons(figures: WindowFigures, invalidity: Invalidity) -> list[tuple[str, str]]:
    """Return the reasons of the gates as sentences; that of lost units with the causes of the loss."""
    reasons = []
    for reason in figures.gates.reasons:
        text = f"{reason.text[:1].upper()}{reason.text[1:]}"
        if invalidity.lost and reason.word == "gap":
            causes = ", ".join(dict.fromkeys(invalidity.why))
            text = f"{'At least ' if invalidity.more else ''}{text} ({causes})"
        reasons.append((reason.word, f"{text}."))
    return reasons


def _with_reviewers(result: WindowResult, reviewers: ReviewerFigures | None) -> WindowResult:
    """Return a result whose system error has the error of the reviewers in it, as far as it is known."""
    human = None if reviewers is None else reviewers.human_error
    system = result.figures.get("error")  # of reviewers who are right
    if reviewers is not None and human is not None and result.judged:
        answered = result.figures.get("answered_error")
        system = reviewers.reviewed.system_error(result.answered_share, answered, human, result.source)
    figures = {name: estimate for name, estimate in result.figures.items() if name != "system_error"}
    if system is not None and result.judged:
        figures["system_error"] = system
    return replace(result, human_error=human, figures=figures)
