"""Puts tracing together, as settings and the environment want it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric

from services import __version__
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError
from services.tracing.outlet import Outlet
from services.tracing.recording import Clocks, Means
from services.tracing.sampling import Sampler
from services.tracing.tracer import OFF, Recorder, Tracer

FLUSH_SECONDS = 3.0
"""For what waits when the process ends."""
_PROTOCOL = "http/protobuf"


@dataclass(frozen=True)
class Tracing:
    """A tracer, and what has to be closed behind it."""

    tracer: Tracer
    outlet: Outlet | None = None

    def stop(self, seconds: float = FLUSH_SECONDS) -> None:
        """Sends what waits, within bounds. Blocks."""
        if self.outlet is not None:
            self.outlet.stop(seconds)


def tracing(settings: Settings, model: str, registry: CollectorRegistry, environment: Mapping[str, str]) -> Tracing:
    """Traces of a service.

    Args:
        model: tag of the artefact.
        registry: takes the counts of spans, where there are any.

    Raises:
        SettingsError: a variable of OpenTelemetry is none that is understood here, or its packages are missing.
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
    outlet = otlp.outlet(__version__, own, environment)
    registry.register(TraceMetrics(settings.task, outlet))
    means = Means(outlet, Clocks(time.monotonic, time.time_ns))
    return Tracing(Recorder(means, sampler, attributes), outlet)


class TraceMetrics:
    """``demur_trace_spans_total``."""

    def __init__(self, task: str, outlet: Outlet) -> None:
        self._task, self._outlet = task, outlet

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "demur_trace_spans",
            "Spans by what became of them: exported, or dropped and why.",
            labels=("task", "outcome"),
        )
        for outcome, count in self._outlet.counts.items():
            family.add_metric((self._task, outcome), count)
        yield family


def _check_protocol(environment: Mapping[str, str]) -> None:
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        given = environment.get(name, "").strip() or _PROTOCOL
        if given != _PROTOCOL:
            raise SettingsError(f"{name} = {given!r}: spans are sent as {_PROTOCOL} (port 4318 of most collectors)")
