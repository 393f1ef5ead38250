"""Build the tracer of a service from settings and the variables of OpenTelemetry."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric

from services import __version__
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError
from services.tracing.recording import Backend
from services.tracing.span_queue import SpanQueue
from services.tracing.tracer import OFF, Recorder, Sampler, Tracer

FLUSH_SECONDS = 3.0
"""Longest time to send queued spans when the process ends."""
_PROTOCOL = "http/protobuf"


@dataclass(frozen=True)
class Tracing:
    """Tracer and the queue of its spans."""

    tracer: Tracer
    queue: SpanQueue | None = None

    def stop(self, seconds: float = FLUSH_SECONDS) -> None:
        """Send queued spans, for at most ``seconds``. Blocks."""
        if self.queue is not None:
            self.queue.stop(seconds)


def tracing(settings: Settings, model: str, registry: CollectorRegistry, environment: Mapping[str, str]) -> Tracing:
    """Return the tracing of a service.

    Args:
        model: tag of the artefact.
        registry: gets the counts of spans, unless tracing is off.

    Raises:
        SettingsError: a variable of OpenTelemetry has an unsupported value, or its packages are missing.
    """
    if settings.tracing == "off" or environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Tracing(OFF)
    sampler = Sampler.read(environment)
    _check_protocol(environment)
    try:
        from services.tracing import otlp
    except ImportError as error:
        raise SettingsError(
            f"DEMUR_TRACING = {settings.tracing} needs packages that are not installed ({error.name}): "
            "pip install 'demur[tracing]', or switch it off"
        ) from error
    name, _, version = model.partition(":")
    attributes = {"demur.task": settings.task, "demur.model": name, "demur.model.version": version}
    own = {"service.name": f"demur-{settings.task}", "service.namespace": "demur", **attributes}
    queue = otlp.span_queue(__version__, own, environment)
    registry.register(TraceMetrics(settings.task, queue))
    backend = Backend(queue, time.monotonic, time.time_ns)
    return Tracing(Recorder(backend, sampler, attributes), queue)


class TraceMetrics:
    """Collector of ``demur_trace_spans_total``."""

    def __init__(self, task: str, queue: SpanQueue) -> None:
        self._task, self._queue = task, queue

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "demur_trace_spans",
            "Spans by what became of them: exported, or dropped and why.",
            labels=("task", "outcome"),
        )
        for outcome, count in self._queue.counts.items():
            family.add_metric((self._task, outcome), count)
        yield family


def _check_protocol(environment: Mapping[str, str]) -> None:
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = environment.get(name, "").strip() or _PROTOCOL
        if protocol != _PROTOCOL:
            raise SettingsError(f"{name} = {protocol!r}: spans are sent as {_PROTOCOL} (port 4318 of most collectors)")
