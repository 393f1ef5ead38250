"""Prometheus metrics of one service process, in base units, on a registry that is passed in.

Counting is on the path of every request, so it is plain arithmetic; the exposition format is made at scrape.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics

from services.ledger.contract import Portion
from services.policy.decision import Decision
from services.request.device_health import DeviceHealth
from services.request.schedule import Scheduler
from services.runtime.histogram import Histogram
from services.runtime.versions import NAMES, versions
from services.tracing.trace import current

_REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_QUANTUM_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1)
_GROUP_REQUESTS = (1, 2, 4, 8, 16, 32, 64)
_BUILD = ("version", "model", "profile", "provider", *NAMES)
TEXT = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of the Prometheus text format."""
_DECISIONS = {decision: decision.name.lower() for decision in Decision}


class Metrics:
    """Metrics of a service; labels are bounded (task, transport, code, head, decision)."""

    def __init__(self, task: str, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._task = task
        self._requests: Counter[tuple[str, str]] = Counter()
        self._request_seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(_REQUEST_SECONDS))
        self._units: Counter[tuple[str, str, str]] = Counter()
        self._shifted: Counter[tuple[str]] = Counter()
        self._quantum = Histogram(_QUANTUM_SECONDS)
        self._group = Histogram(_GROUP_REQUESTS)
        self._begun = 0
        self._waited = 0.0
        self._scheduler: Scheduler | None = None
        self._device: DeviceHealth | None = None
        self._turned_away: Callable[[], Mapping[tuple[str, str], int]] = dict
        self._running: tuple[str, ...] | None = None
        registry.register(self)

    def request(self, transport: str, code: str, seconds: float) -> None:
        """Count a finished call."""
        self._requests[transport, code] += 1
        self._request_seconds[transport].observe(seconds, current().recorded_id)

    @property
    def passes(self) -> tuple[int, float]:
        """Number of passes over the device, and their total seconds."""
        return self._quantum.count, self._quantum.sum

    @property
    def waits(self) -> tuple[int, float]:
        """Number of requests that started, and their total waiting time in seconds."""
        return self._begun, self._waited

    def begun(self, seconds: float) -> None:
        """Count a request that starts after this time in the queue."""
        self._begun += 1
        self._waited += seconds

    def quantum(self, seconds: float, requests: int, trace_id: str = "") -> None:
        """Count a pass over the device."""
        self._quantum.observe(seconds, trace_id)
        self._group.observe(requests)

    def decided(self, portion: Portion) -> None:
        """Count the units of a portion by decision."""
        for head, verdict in portion.verdicts.items():
            counts = np.bincount(verdict.decisions, minlength=len(Decision) + 1).tolist()
            for decision, word in _DECISIONS.items():
                if count := counts[decision]:
                    self._units[head, portion.purpose, word] += count
            if shifted := int(np.count_nonzero(verdict.shifts)):
                self._shifted[(head,)] += shifted

    def watch(self, scheduler: Scheduler) -> None:
        """Export the state of the queue at each scrape."""
        self._scheduler = scheduler

    def watch_device(self, health: DeviceHealth) -> None:
        """Export the health of the device at each scrape."""
        self._device = health

    def turned_away(self, counts: Callable[[], Mapping[tuple[str, str], int]]) -> None:
        """Export calls that were refused before any handler, by protocol and status; they have no duration."""
        self._turned_away = counts

    def info(self, version: str, model: str, *, profile: str, provider: str = "cpu") -> None:
        """Set the labels of ``demur_build_info``; ``profile`` is the name of the numeric profile."""
        self._running = (version, model, profile, provider, *versions())

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Return the body of a scrape and its media type: OpenMetrics, which has exemplars, if it is accepted."""
        if "application/openmetrics-text" in accept:
            body: bytes = openmetrics.generate_latest(self.registry)  # type: ignore[no-untyped-call]
            return body, openmetrics.CONTENT_TYPE_LATEST
        return generate_latest(self.registry), TEXT

    def text(self) -> bytes:
        """Return the metrics in the Prometheus text format."""
        return self.exposition()[0]

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families for the registry."""
        requests = self._requests + Counter(self._turned_away())
        yield self._counter("demur_requests", "Calls by protocol and status.", ("transport", "code"), requests)
        yield self._histogram(
            "demur_request_seconds",
            "Duration of calls, from decoded message to answer.",
            ("transport",),
            {(transport,): histogram for transport, histogram in self._request_seconds.items()},
        )
        yield self._counter("demur_units", "Units by what was decided.", ("head", "purpose", "decision"), self._units)
        yield self._counter("demur_units_shifted", "Units with a shift flag.", ("head",), self._shifted)
        yield self._histogram("demur_quantum_seconds", "Duration of passes over the device.", (), {(): self._quantum})
        yield self._histogram("demur_quantum_requests", "Requests that shared a pass.", (), {(): self._group})
        if self._running is not None:
            build = GaugeMetricFamily("demur_build_info", "Version of what runs.", labels=("task", *_BUILD))
            build.add_metric((self._task, *self._running), 1)
            yield build
        if (device := self._device) is not None:
            yield self._gauge(
                "demur_device_healthy", "1 while the device computes, 0 after a failure.", not device.reason
            )
            failures = {(kind,): count for kind, count in device.failures.items()}
            yield self._counter("demur_device_failures", "Failures that took the device out.", ("kind",), failures)
            probes = {(outcome,): count for outcome, count in device.probes.items()}
            yield self._counter("demur_device_probes", "Probes after failures, by outcome.", ("outcome",), probes)
        if (queue := self._scheduler) is not None:
            yield self._gauge("demur_queue_requests", "Requests waiting or running.", queue.active)
            yield self._gauge("demur_queue_seconds", "Declared device time waiting or running.", queue.queued_seconds)
            yield self._gauge("demur_queue_bytes", "Declared memory of requests.", queue.queued_bytes)
            limits = queue.limits
            most = limits.queue_seconds * limits.lanes
            yield self._gauge("demur_queue_limit_seconds", "Device time that may wait or run.", most)
            yield self._gauge("demur_queue_limit_bytes", "Memory that requests may take.", limits.queue_bytes)

    def _counter(self, name: str, text: str, labels: tuple[str, ...], counts: Mapping[Any, int]) -> CounterMetricFamily:
        family = CounterMetricFamily(name, text, labels=("task", *labels))
        for values, count in counts.items():
            family.add_metric((self._task, *values), count)
        return family

    def _histogram(
        self, name: str, text: str, labels: tuple[str, ...], distributions: dict[tuple[str, ...], Histogram]
    ) -> HistogramMetricFamily:
        family = HistogramMetricFamily(name, text, labels=("task", *labels))
        for values, distribution in distributions.items():
            distribution.export(family, (self._task, *values))
        return family

    def _gauge(self, name: str, text: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=("task",))
        family.add_metric((self._task,), value)
        return family
