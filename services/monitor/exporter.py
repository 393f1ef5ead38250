"""Prometheus metrics of the monitor: collectors on separate registries.

Metrics that do not depend on the time of the scrape are formatted once per cycle; a scrape adds the others. Figures are
exported only while their window is valid; an invalid window exports its reasons, and no numbers.
"""

import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import accumulate
from operator import is_not

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from models.agreement.throughput import QUANTILES
from models.estimation.intervals import Estimate
from models.live.invalidity import REASONS
from models.live.stream import Histogram
from models.live.window_evaluator import WindowResult
from models.live.window_figures import FIGURES, REFERENCES, Curve
from services import __version__
from services.labels.requests import STATES
from services.monitor.reviewer_document import backlogs
from services.monitor.snapshot import Snapshot

CURVE_POINTS = 21
_STREAM = ("task", "head", "model")
_WINDOW = (*_STREAM, "window", "source")
Windows = tuple[WindowResult, ...]

_HELP = {
    "r_auc": "Area under the error-retention curve, in the error's unit.",
    "f1_auc": "Area under the F1-retention curve.",
    "f1_at_95": "F1 at 95 % retention.",
    "error": "Errors of the answered units over all units: the error-retention curve at the operating point.",
    "answered_error": "Mean error of the answered units.",
    "mean_error": "Mean error of the model over all units, answered or not.",
    "system_error": "Mean error of all answers, by the model or by a reviewer.",
    "r_auc_random": "R-AUC of a random ranking.",
    "r_auc_optimal": "R-AUC of the optimal ranking, by the errors themselves.",
    "f1_auc_random": "F1-AUC of a random ranking.",
    "f1_auc_optimal": "F1-AUC of the optimal ranking, by the errors themselves.",
}


class Exporter:
    """Body of /metrics."""

    def __init__(self, process: CollectorRegistry | None = None) -> None:
        """Create an exporter of an empty snapshot.

        Args:
            process: registry of further metrics, such as those of access.
        """
        self._process = CollectorRegistry() if process is None else process
        self._window_metrics, self._cycle_metrics, self._scrape_metrics = (
            WindowCollector(),
            CycleCollector(),
            ScrapeCollector(),
        )
        self._windows = self._cycle = b""

    def publish(self, snapshot: Snapshot) -> None:
        """Format the metrics that do not depend on the time of the scrape; those of windows only if one has changed."""
        before, self._window_metrics.windows = self._window_metrics.windows, snapshot.windows
        self._cycle_metrics.snapshot = self._scrape_metrics.snapshot = snapshot
        if not self._windows or len(before) != len(snapshot.windows) or any(map(is_not, before, snapshot.windows)):
            self._windows = _formatted(self._window_metrics)
        self._cycle = _formatted(self._cycle_metrics)

    def text(self, now: float) -> bytes:
        """Return all metrics in the exposition format.

        Args:
            now: seconds since 1970.
        """
        self._scrape_metrics.now = now
        return self._windows + self._cycle + _formatted(self._scrape_metrics) + generate_latest(self._process)


def _formatted(collector: Collector) -> bytes:
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry)


class ScrapeCollector(Collector):
    """Metrics that depend on the time of the scrape."""

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.now = 0.0

    def collect(self) -> Iterator[Metric]:
        """Yield all families."""
        ledgers, streams = self.snapshot.ledgers, self.snapshot.streams
        yield _gauge(
            "demur_monitor_lag_seconds",
            "Age of the last moment up to which all ledgers are complete.",
            (),
            [((), max(0.0, self.now - min(ledger.complete_until for ledger in ledgers)))] if ledgers else [],
        )
        yield _gauge(
            "demur_monitor_last_success_timestamp_seconds",
            "Time of the last reading of all ledgers, seconds since 1970.",
            (),
            [((), min(ledger.last_success for ledger in ledgers))] if ledgers else [],
        )
        oldest = (stream.oldest_request for stream in streams)
        ages = (0.0 if since is None else max(0.0, self.now - since) for since in oldest)
        yield _gauge(
            "demur_label_oldest_request_age_seconds",
            "Age of the oldest request that waits for a label.",
            _STREAM,
            zip((stream.key for stream in streams), ages, strict=True),
        )
        build = ((__version__, platform.python_version()), 1.0)
        yield _gauge("demur_monitor_build_info", "Versions of demur and Python.", ("version", "python"), [build])


class WindowCollector(Collector):
    """Metrics of windows, most of which stay the same for many cycles."""

    def __init__(self) -> None:
        self.windows: tuple[WindowResult, ...] = ()

    def collect(self) -> Iterator[Metric]:
        """Yield all families."""
        windows = self.windows
        yield from _figures(windows)
        yield from _references(windows)
        yield _curves(windows)
        yield from _validity(windows)
        for name, (help_text, value) in _PER_WINDOW.items():
            yield _gauge(f"demur_{name}", help_text, _WINDOW, ((_labels(window), value(window)) for window in windows))


class CycleCollector(Collector):
    """Other metrics that change only with each cycle."""

    def __init__(self) -> None:
        self.snapshot = Snapshot()

    def collect(self) -> Iterator[Metric]:
        """Yield all families."""
        yield from _requests(self.snapshot)
        yield from _reviewers(self.snapshot)
        yield from _policies(self.snapshot)
        yield from _monitor(self.snapshot)


_PER_WINDOW: dict[str, tuple[str, Callable[[WindowResult], float]]] = {
    "live_effective_samples": (
        "Effective number of randomly drawn labels: as many of equal weight would carry as much.",
        lambda w: w.effective_samples,
    ),
    "live_units": ("Decided units of the window.", lambda w: w.units),
    "live_labels": ("Labels that count in the window.", lambda w: w.labels),
    "live_abstain_ratio": ("Share of the window's units that were deferred.", lambda w: w.abstained),
    "live_completion_ratio": ("Share of the closed label requests that were labelled.", lambda w: w.completion),
    "live_mature_ratio": ("Share of the window's units old enough for their labels to have come.", lambda w: w.mature),
    "drift_psi": ("Population stability index of the uncertainty against in-domain data.", lambda w: w.drift.psi),
    "drift_psi_expected": ("Mean of the index by chance alone.", lambda w: w.drift.psi_expected),
    "drift_log_wealth": ("Natural log of the wealth of bets that scores changed.", lambda w: w.drift.log_wealth),
    "drift_alarm": ("Whether that wealth has ever reached its limit.", lambda w: w.drift.alarm),
    "risk_log_wealth": ("Natural log of the wealth of bets that the risk rose.", lambda w: w.risk.log_wealth),
    "risk_alarm": ("Whether that wealth has ever reached its limit.", lambda w: w.risk.alarm),
}


def _figures(windows: Windows) -> Iterator[Metric]:
    for name in FIGURES:
        values = [(_labels(w), _ends(w.figures[name])) for w in windows if w.valid and name in w.figures]
        yield from _with_interval(f"demur_live_{name}", _HELP[name], _WINDOW, values)


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.estimate, estimate.low, estimate.high


def _references(windows: Windows) -> Iterator[Metric]:
    for name in REFERENCES:
        values = ((_labels(w), w.references[name]) for w in windows if w.valid and name in w.references)
        yield _gauge(f"demur_live_{name}", _HELP[name], _WINDOW, values)
    for end, which in (("low", "Lower"), ("high", "Upper")):
        yield _gauge(
            f"demur_live_r_auc_baseline_{end}",
            f"{which} end of the interval of normal R-AUC, with its origin.",
            (*_WINDOW, "origin"),
            (
                ((*_labels(window), window.baseline.origin), getattr(window.baseline, end))
                for window in windows
                if window.baseline is not None
            ),
        )


def _curves(windows: Windows) -> Metric:
    return _gauge(
        "demur_live_curve",
        "Error-retention curve at some retentions: errors of the retained units over all, with its 95 % band.",
        (*_WINDOW, "retention", "kind"),
        (
            ((*_labels(window), retention, kind), value)
            for window in windows
            if window.valid and window.error_curve is not None
            for retention, kind, value in _points(window.error_curve)
        ),
    )


def _points(curve: Curve) -> Iterator[tuple[str, str, float]]:
    count = len(curve.band.retention)
    places = np.unique(np.round(np.linspace(0, count - 1, min(CURVE_POINTS, count))).astype(int))
    lines = {
        "live": curve.band.estimate,
        "low": curve.band.low,
        "high": curve.band.high,
        "random": curve.random,
        "optimal": curve.optimal,
    }
    for place in places:
        retention = f"{curve.band.retention[place]:.4g}"
        for kind, values in lines.items():
            yield retention, kind, float(values[place])


def _validity(windows: Windows) -> Iterator[Metric]:
    valid = ((_labels(window), window.valid) for window in windows)
    yield _gauge("demur_live_valid", "Whether the window's figures are valid.", _WINDOW, valid)
    present = [(window, {word for word, _ in window.reasons}) for window in windows]
    invalid = (((*_labels(w), word), word in words) for w, words in present for word in sorted(REASONS | words))
    yield _gauge("demur_live_invalid", "Whether the window is invalid for this reason.", (*_WINDOW, "reason"), invalid)


def _requests(snapshot: Snapshot) -> Iterator[Metric]:
    streams = snapshot.streams
    yield _gauge(
        "demur_label_requests",
        "Label requests by state.",
        (*_STREAM, "state"),
        (((*stream.key, state), stream.requests.get(state, 0)) for stream in streams for state in STATES),
    )
    delays = HistogramMetricFamily(
        "demur_label_delay_seconds", "Time from the decision to the receipt of its label.", labels=(*_STREAM, "source")
    )
    explored = CounterMetricFamily(
        "demur_explored_units", "Explored and replayed units, by purpose.", labels=(*_STREAM, "purpose")
    )
    for stream in streams:
        for source, histogram in stream.delays.items():
            _histogram(delays, (*stream.key, source), histogram)
        for purpose, count in stream.explored.items():
            explored.add_metric((*stream.key, purpose), count)
    yield from (delays, explored)
    yield _gauge(
        "demur_explored_psi",
        "Population stability index of the last day's explored units against in-domain data.",
        (*_STREAM, "purpose"),
        (
            ((*stream.key, purpose), shift.psi)
            for stream in streams
            for purpose, shift in stream.explored_shifts.items()
        ),
    )
    labels = CounterMetricFamily("demur_labels", "Labels read, by verdict.", labels=("task", "source", "verdict"))
    for place, count in snapshot.labels.items():
        labels.add_metric(place, count)
    yield labels


def _reviewers(snapshot: Snapshot) -> Iterator[Metric]:
    place, reviewers = ("task", "head"), snapshot.reviewers
    errors = [(own.reviewed.key, astuple(own.human_error)[:3]) for own in reviewers if own.human_error is not None]
    yield from _with_interval("demur_human_error", "Error of a reviewer's label, in the error's unit.", place, errors)
    yield _gauge(
        "demur_review_opinions",
        "Second opinions and labels of known units, from which the error of reviewers is estimated.",
        (*place, "kind"),
        (
            ((*own.reviewed.key, kind), count)
            for own in reviewers
            for kind, count in (("second", own.second_opinions), ("known", own.known_units))
        ),
    )
    agreement = [
        ((*own.reviewed.key, name), astuple(bounds)[:3])
        for own in reviewers
        for name, bounds in own.agreement.overall.items()
    ]
    text = "Agreement of reviewers by measure."
    yield from _with_interval("demur_review_agreement", text, (*place, "measure"), agreement)
    yield _gauge(
        "demur_review_label_seconds",
        "Seconds that a label of the last day took, by quantile.",
        (*place, "quantile"),
        (
            ((*own.reviewed.key, str(level)), seconds)
            for own in reviewers
            for level, seconds in zip(QUANTILES, own.pace.seconds, strict=True)
        ),
    )
    yield _gauge(
        "demur_review_seconds_to_empty",
        "Seconds until the queue is empty at the pace of the last day; infinite if it does not shrink.",
        place,
        ((key, backlog.seconds_to_empty.mean) for key, backlog in backlogs(snapshot.streams).items()),
    )


def _policies(snapshot: Snapshot) -> Iterator[Metric]:
    policies, place = snapshot.policies.items(), ("task", "head")
    yield _gauge(
        "demur_policy_threshold",
        "Threshold in force, in the unit of the head's measure.",
        place,
        ((key, policy.threshold) for key, policy in policies),
    )
    yield _gauge(
        "demur_policy_target_retention",
        "Target retention of the policy; 0 without one.",
        place,
        ((key, policy.target_retention) for key, policy in policies),
    )
    yield _gauge(
        "demur_head_info",
        "Units and error of a head.",
        (*_STREAM, "unit", "error_unit", "measure", "error"),
        (
            ((*stream.key, stream.head.unit, stream.head.error_unit, stream.measure, stream.head.error), 1)
            for stream in snapshot.streams
        ),
    )


def _monitor(snapshot: Snapshot) -> Iterator[Metric]:
    cycles = HistogramMetricFamily(
        "demur_monitor_cycle_seconds", "Duration of a cycle: reading the ledgers and evaluating windows.", labels=()
    )
    _histogram(cycles, (), snapshot.cycles)
    errors = CounterMetricFamily("demur_monitor_errors", "Errors while reading ledgers, by reason.", labels=("reason",))
    for reason, count in snapshot.errors.items():
        errors.add_metric((reason,), count)
    yield from (cycles, errors)


def _histogram(family: HistogramMetricFamily, labels: tuple[str, ...], histogram: Histogram) -> None:
    bounds = map(floatToGoString, (*histogram.bounds, float("inf")))
    family.add_metric(labels, [*zip(bounds, accumulate(histogram.counts), strict=True)], histogram.sum)


def _labels(window: WindowResult) -> tuple[str, ...]:
    return (*window.key, window.window, window.source)


def _with_interval(
    name: str, help_text: str, labels: tuple[str, ...], values: Sequence[tuple[tuple[str, ...], tuple[float, ...]]]
) -> Iterator[Metric]:
    """Yield gauges of figures [figure, low, high] by their labels, and of both ends of their intervals."""
    ends = ("", ""), ("_low", " Lower end of its 95 % interval."), ("_high", " Upper end of its 95 % interval.")
    for index, (suffix, text) in enumerate(ends):
        yield _gauge(name + suffix, help_text + text, labels, ((key, figure[index]) for key, figure in values))


def _gauge(
    name: str, help_text: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> GaugeMetricFamily:
    """Return a gauge of values by their labels; missing values (NaN) are left out."""
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for place, value in values:
        if value == value:
            family.add_metric(place, float(value))
    return family
