"""Conversion of recorded spans to those of OpenTelemetry, and their export over HTTP.

The standard variables of OpenTelemetry configure it. No other module imports OpenTelemetry, and this one is imported
only where tracing is on.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from services.tracing.recording import Bundle
from services.tracing.span_queue import Limits, SpanQueue

_FLAGS = TraceFlags(TraceFlags.SAMPLED)
_KINDS = {"server": SpanKind.SERVER, "internal": SpanKind.INTERNAL}
_UNSET = Status(StatusCode.UNSET)


class Exporter:
    """Exporter of bundles to the collector."""

    def __init__(self, resource: Resource, version: str) -> None:
        self._resource = resource
        self._scope = InstrumentationScope("demur", version)
        self._exporter = OTLPSpanExporter()

    def __call__(self, bundles: Sequence[Bundle]) -> bool:
        """Send bundles; return False if the collector did not accept them."""
        spans = [self.span(bundle, index) for bundle in bundles for index in range(len(bundle.spans))]
        return self._exporter.export(spans) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Make a running export stop its retries."""
        self._exporter.shutdown()

    def span(self, bundle: Bundle, index: int) -> ReadableSpan:
        """Return one span of a bundle."""
        record = bundle.spans[index]
        state = TraceState.from_header([bundle.state]) if bundle.state else TraceState()
        remote = bundle.remote and index == 0
        return ReadableSpan(
            record.name,
            SpanContext(bundle.trace_id, record.span_id, False, _FLAGS, state),
            SpanContext(bundle.trace_id, record.parent_id, remote, _FLAGS, state) if record.parent_id else None,
            self._resource,
            attributes=record.attributes,
            links=[Link(SpanContext(link.trace_id, link.span_id, False, _FLAGS)) for link in record.links],
            kind=_KINDS[record.kind],
            status=Status(StatusCode.ERROR, record.error) if record.error else _UNSET,
            start_time=_nanoseconds(bundle, record.start),
            end_time=_nanoseconds(bundle, max(record.start, record.end)),
            instrumentation_scope=self._scope,
        )


def span_queue(version: str, attributes: Mapping[str, str], environment: Mapping[str, str]) -> SpanQueue:
    """Return a queue to the collector of the environment.

    Args:
        attributes: of the process; OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME take precedence.

    Raises:
        SettingsError: a variable of the queue is not a number.
    """
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # the queue logs failures once, not every time
    own = Resource({"service.instance.id": str(uuid.uuid4()), "service.version": version, **attributes})
    resource = Resource.create().merge(own).merge(OTELResourceDetector().detect())
    exporter = Exporter(resource, version)
    return SpanQueue(exporter, exporter.close, Limits.read(environment))


def _nanoseconds(bundle: Bundle, moment: float) -> int:
    return bundle.epoch_ns + int(moment * 1e9)
