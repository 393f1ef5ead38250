"""Prometheus metrics of one service process, in base units, on a registry that is passed in."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from services.pipeline import Portion
from services.policy import Decision
from services.schedule import Scheduler

_REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_QUANTUM_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1)
_GROUP_REQUESTS = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """All that a service counts; labels are bounded (task, transport, code, head, decision)."""

    def __init__(self, task: str, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._task = task
        self._requests = Counter(
            "demur_requests",
            "Calls by protocol and status.",
            ("task", "transport", "code"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "demur_request_seconds",
            "Duration of calls, from decoded message to answer.",
            ("task", "transport"),
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self._units = Counter(
            "demur_units",
            "Units by what was decided.",
            ("task", "head", "purpose", "decision"),
            registry=registry,
        )
        self._shifted = Counter("demur_units_shifted", "Units with a shift flag.", ("task", "head"), registry=registry)
        quantum = Histogram(
            "demur_quantum_seconds",
            "Duration of passes over the device.",
            ("task",),
            buckets=_QUANTUM_SECONDS,
            registry=registry,
        )
        group = Histogram(
            "demur_quantum_requests",
            "Requests that shared a pass.",
            ("task",),
            buckets=_GROUP_REQUESTS,
            registry=registry,
        )
        self._quantum, self._group = quantum.labels(task), group.labels(task)
        self._build = Gauge(
            "demur_build_info", "Version of what runs.", ("task", "version", "model"), registry=registry
        )

    def request(self, transport: str, code: str, seconds: float) -> None:
        """Counts a finished call."""
        self._requests.labels(self._task, transport, code).inc()
        self._request_seconds.labels(self._task, transport).observe(seconds)

    def quantum(self, seconds: float, requests: int) -> None:
        """Counts a pass over the device."""
        self._quantum.observe(seconds)
        self._group.observe(requests)

    def decided(self, portion: Portion) -> None:
        """Counts the units of a portion by decision."""
        for head, verdict in portion.verdicts.items():
            decisions = verdict.decisions
            answered = int((decisions == Decision.ANSWER).sum())
            caller = int((decisions == Decision.CALLER_DEFERRED).sum())
            counts = (
                ("answer", answered),
                ("caller_deferred", caller),
                ("defer", len(decisions) - answered - caller),
            )
            for decision, count in counts:
                if count:
                    self._units.labels(self._task, head, portion.purpose, decision).inc(count)
            if shifted := int((verdict.shifts != 0).sum()):
                self._shifted.labels(self._task, head).inc(shifted)

    def watch(self, scheduler: Scheduler) -> None:
        """Exports the queue as it is at each scrape."""
        gauges = (
            ("demur_queue_requests", "Requests waiting or running.", lambda: scheduler.active),
            (
                "demur_queue_seconds",
                "Declared device time waiting or running.",
                lambda: scheduler.queued_seconds,
            ),
            ("demur_queue_bytes", "Declared memory of requests.", lambda: scheduler.queued_bytes),
        )
        for name, text, value in gauges:
            gauge = Gauge(name, text, ("task",), registry=self._registry)
            gauge.labels(self._task).set_function(value)

    def info(self, version: str, model: str) -> None:
        """Says what runs."""
        self._build.labels(self._task, version, model).set(1)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self._registry)
