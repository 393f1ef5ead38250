"""What is published, as Prometheus metrics: a collector on a registry of its own.

Figures are made when something changed, and written down then; a scrape adds what depends on the moment. A figure is
exported only while it is valid: a window that is not says so, and why, and has no numbers that could be taken for some.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from itertools import accumulate

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from services import __version__
from services.labels.requests import STATES
from services.monitor.judgement import FIGURES, REFERENCES, Curve, Judgement
from services.monitor.published import Distribution, Published
from services.monitor.reasons import REASONS

CURVE_POINTS = 21
_STREAM = ("task", "head", "model")
_WINDOW = (*_STREAM, "window", "source")

_HELP = {
    "r_auc": "Area under the error-retention curve, in the error's unit.",
    "f1_auc": "Area under the F1-retention curve.",
    "f1_at_95": "F1 at 95 % retention.",
    "error": "Errors of the answered units over all units: the error-retention curve at the operating point.",
    "answered_error": "Mean error of the answered units.",
    "mean_error": "Mean error of the model over all units, answered or not.",
    "system_error": "Mean error of what was answered, by the model or by somebody else.",
    "r_auc_random": "R-AUC of a ranking that says nothing.",
    "r_auc_optimal": "R-AUC of a ranking by the errors themselves.",
    "f1_auc_random": "F1-AUC of a ranking that says nothing.",
    "f1_auc_optimal": "F1-AUC of a ranking by the errors themselves.",
}


class Exporter:
    """The body of /metrics."""

    def __init__(self, beside: CollectorRegistry | None = None) -> None:
        self._registry = CollectorRegistry()
        self._beside = CollectorRegistry() if beside is None else beside
        self._collector = LiveCollector()
        self._registry.register(self._collector)
        self._moment = CollectorRegistry()
        self._moments = MomentCollector()
        self._moment.register(self._moments)
        self._body = b""

    def publish(self, published: Published) -> None:
        """Writes down what does not depend on when it is asked for."""
        self._collector.published = self._moments.published = published
        self._body = generate_latest(self._registry)

    def text(self, now: float) -> bytes:
        """The exposition format.

        Args:
            now: seconds since 1970.
        """
        self._moments.now = now
        return self._body + generate_latest(self._moment) + generate_latest(self._beside)


class MomentCollector:
    """What depends on the moment of the scrape."""

    def __init__(self) -> None:
        self.published = Published()
        self.now = 0.0

    def collect(self) -> Iterator[Metric]:
        """All families."""
        known = self.published
        lag = GaugeMetricFamily(
            "demur_monitor_lag_seconds", "Age of the last moment up to which all ledgers are complete."
        )
        success = GaugeMetricFamily(
            "demur_monitor_last_success_timestamp_seconds", "When all ledgers had been read last, since 1970."
        )
        if known.ledgers:
            lag.add_metric((), max(0.0, self.now - min(one.complete_until for one in known.ledgers)))
            success.add_metric((), min(one.last_success for one in known.ledgers))
        oldest = GaugeMetricFamily(
            "demur_label_oldest_request_age_seconds",
            "Age of the oldest request that waits for a label.",
            labels=_STREAM,
        )
        for stream in known.streams:
            since = stream.oldest_request
            oldest.add_metric(stream.key, 0.0 if since is None else max(0.0, self.now - since))
        build = GaugeMetricFamily("demur_monitor_build_info", "Version of what runs.", labels=("version", "python"))
        build.add_metric((__version__, platform.python_version()), 1)
        yield from (lag, success, oldest, build)


class LiveCollector:
    """What was published."""

    def __init__(self) -> None:
        self.published = Published()

    def collect(self) -> Iterator[Metric]:
        """All families."""
        known = self.published
        yield from _figures(known.judgements)
        yield from _references(known.judgements)
        yield _curves(known.judgements)
        yield from _validity(known.judgements)
        yield from _amounts(known.judgements)
        yield from _drift(known.judgements)
        yield from _requests(known)
        yield from _policies(known)
        yield from _monitor(known)


def _figures(judgements: tuple[Judgement, ...]) -> Iterator[Metric]:
    for name in FIGURES:
        ends = (("", "estimate", ""), ("_low", "low", " Lower end of its 95 % interval."))
        for suffix, attribute, words in (*ends, ("_high", "high", " Upper end of its 95 % interval.")):
            family = GaugeMetricFamily(f"demur_live_{name}{suffix}", _HELP[name] + words, labels=_WINDOW)
            for one in judgements:
                if one.valid and (found := one.figures.get(name)) is not None:
                    _add(family, _window(one), getattr(found, attribute))
            yield family


def _references(judgements: tuple[Judgement, ...]) -> Iterator[Metric]:
    for name in REFERENCES:
        family = GaugeMetricFamily(f"demur_live_{name}", _HELP[name], labels=_WINDOW)
        for one in judgements:
            if one.valid and name in one.references:
                _add(family, _window(one), one.references[name])
        yield family
    for place, end in enumerate(("low", "high")):
        words = "Lower" if end == "low" else "Upper"
        family = GaugeMetricFamily(
            f"demur_live_r_auc_baseline_{end}",
            f"{words} end of the interval of R-AUC that is normal, and where it comes from.",
            labels=(*_WINDOW, "origin"),
        )
        for one in judgements:
            if one.baseline is not None:
                *ends, origin = one.baseline
                _add(family, (*_window(one), str(origin)), float(ends[place]))
        yield family


def _curves(judgements: tuple[Judgement, ...]) -> Metric:
    family = GaugeMetricFamily(
        "demur_live_curve",
        "Error-retention curve at some retentions: errors of the retained units over all, with its 95 % band.",
        labels=(*_WINDOW, "retention", "kind"),
    )
    for one in judgements:
        if one.valid and one.error_curve is not None:
            for retention, kind, value in _points(one.error_curve):
                _add(family, (*_window(one), retention, kind), value)
    return family


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


def _validity(judgements: tuple[Judgement, ...]) -> Iterator[Metric]:
    valid = GaugeMetricFamily("demur_live_valid", "Whether the window's figures may be believed.", labels=_WINDOW)
    invalid = GaugeMetricFamily(
        "demur_live_invalid", "Whether this is a reason why they may not.", labels=(*_WINDOW, "reason")
    )
    for one in judgements:
        valid.add_metric(_window(one), float(one.valid))
        given = {word for word, _ in one.reasons}
        for word in sorted(REASONS | given):
            invalid.add_metric((*_window(one), word), float(word in given))
    yield valid
    yield invalid


_AMOUNTS: dict[str, tuple[str, Callable[[Judgement], float]]] = {
    "effective_samples": ("Labels drawn by chance, as many as if all weighed the same.", lambda j: j.effective_samples),
    "units": ("Decided units of the window.", lambda j: float(j.units)),
    "labels": ("Labels that count in the window.", lambda j: float(j.labels)),
    "abstain_ratio": ("Share of the window's units that were deferred.", lambda j: j.abstained),
    "completion_ratio": ("Share of the label requests old enough to be answered that were.", lambda j: j.completion),
    "mature_ratio": ("Share of the window's units old enough for their labels to have come.", lambda j: j.mature),
}


def _amounts(judgements: tuple[Judgement, ...]) -> Iterator[Metric]:
    for name, (words, value) in _AMOUNTS.items():
        family = GaugeMetricFamily(f"demur_live_{name}", words, labels=_WINDOW)
        for one in judgements:
            _add(family, _window(one), value(one))
        yield family


_DRIFT: dict[str, tuple[str, Callable[[Judgement], float]]] = {
    "drift_psi": ("Population stability index of the uncertainty against in-domain data.", lambda j: j.drift.psi),
    "drift_psi_expected": ("What the index is by chance alone, on average.", lambda j: j.drift.psi_expected),
    "drift_log_wealth": ("Natural log of the wealth of bets that scores changed.", lambda j: j.drift.log_wealth),
    "drift_alarm": ("Whether that wealth ever reached its limit.", lambda j: float(j.drift.alarm)),
    "risk_log_wealth": ("Natural log of the wealth of bets that the risk rose.", lambda j: j.risk.log_wealth),
    "risk_alarm": ("Whether that wealth ever reached its limit.", lambda j: float(j.risk.alarm)),
}


def _drift(judgements: tuple[Judgement, ...]) -> Iterator[Metric]:
    for name, (words, value) in _DRIFT.items():
        family = GaugeMetricFamily(f"demur_{name}", words, labels=_WINDOW)
        for one in judgements:
            _add(family, _window(one), value(one))
        yield family


def _requests(known: Published) -> Iterator[Metric]:
    requests = GaugeMetricFamily("demur_label_requests", "Label requests by state.", labels=(*_STREAM, "state"))
    delays = HistogramMetricFamily(
        "demur_label_delay_seconds", "From the decision to the receipt of its label.", labels=(*_STREAM, "source")
    )
    explored = CounterMetricFamily(
        "demur_explored_units", "Units that were no real question, by purpose.", labels=(*_STREAM, "purpose")
    )
    shifts = GaugeMetricFamily(
        "demur_explored_psi",
        "Population stability index of the last day's explored units against in-domain data.",
        labels=(*_STREAM, "purpose"),
    )
    for stream in known.streams:
        for state in STATES:
            requests.add_metric((*stream.key, state), stream.requests.get(state, 0))
        for source, found in stream.delays.items():
            _distribution(delays, (*stream.key, source), found)
        for purpose, count in stream.explored.items():
            explored.add_metric((*stream.key, purpose), count)
        for purpose, shift in stream.explored_shifts.items():
            shifts.add_metric((*stream.key, purpose), shift.psi)
    labels = CounterMetricFamily(
        "demur_labels", "Labels read, by what became of them.", labels=("task", "source", "verdict")
    )
    for words, count in known.labels.items():
        labels.add_metric(words, count)
    yield from (requests, delays, explored, shifts, labels)


def _policies(known: Published) -> Iterator[Metric]:
    threshold = GaugeMetricFamily(
        "demur_policy_threshold", "Threshold in force, in the unit of the head's measure.", labels=("task", "head")
    )
    target = GaugeMetricFamily(
        "demur_policy_target_retention",
        "Retention that the policy aims at; 0 where it does not.",
        labels=("task", "head"),
    )
    for place, policy in known.policies.items():
        threshold.add_metric(place, policy.threshold)
        target.add_metric(place, policy.target_retention)
    info = GaugeMetricFamily(
        "demur_head_info", "Units and error of a head.", labels=(*_STREAM, "unit", "error_unit", "measure", "error")
    )
    for stream in known.streams:
        head = stream.head
        info.add_metric((*stream.key, head.unit, head.error_unit, stream.measure, head.error), 1)
    yield from (threshold, target, info)


def _monitor(known: Published) -> Iterator[Metric]:
    cycles = HistogramMetricFamily(
        "demur_monitor_cycle_seconds", "Duration of reading and judging what is new.", labels=()
    )
    _distribution(cycles, (), known.cycles)
    errors = CounterMetricFamily("demur_monitor_errors", "What could not be read, by why.", labels=("reason",))
    for reason, count in known.errors.items():
        errors.add_metric((reason,), count)
    yield from (cycles, errors)


def _distribution(family: HistogramMetricFamily, labels: tuple[str, ...], found: Distribution) -> None:
    bounds = map(floatToGoString, (*found.bounds, float("inf")))
    family.add_metric(labels, [*zip(bounds, accumulate(found.counts), strict=True)], found.sum)


def _window(one: Judgement) -> tuple[str, ...]:
    return (*one.key, one.window, one.source)


def _add(family: GaugeMetricFamily, labels: tuple[str, ...], value: float) -> None:
    if value == value:  # what does not exist is not exported
        family.add_metric(labels, value)
