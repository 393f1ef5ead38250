"""Spans as OpenTelemetry has them, sent by its exporter over HTTP; where to, and how, its standard variables say.

The one module that imports OpenTelemetry, and only imported where traces are asked for.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from services.tracing.outlet import Limits, Outlet
from services.tracing.recorded import Bundle

_FLAGS = TraceFlags(TraceFlags.SAMPLED)
_KINDS = {"server": SpanKind.SERVER, "internal": SpanKind.INTERNAL}
_UNSET = Status(StatusCode.UNSET)


class Exporter:
    """Bundles to spans to the collector."""

    def __init__(self, resource: Resource, version: str) -> None:
        self._resource = resource
        self._scope = InstrumentationScope("demur", version)
        self._exporter = OTLPSpanExporter()

    def __call__(self, bundles: Sequence[Bundle]) -> bool:
        """Sends; False where the collector did not take them."""
        spans = [self.span(bundle, index) for bundle in bundles for index in range(len(bundle.spans))]
        return self._exporter.export(spans) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """A running call gives up waiting to try again."""
        self._exporter.shutdown()

    def span(self, bundle: Bundle, index: int) -> ReadableSpan:
        """One span of a bundle."""
        one = bundle.spans[index]
        state = TraceState.from_header([bundle.state]) if bundle.state else TraceState()
        remote = bundle.remote and index == 0
        return ReadableSpan(
            one.name,
            SpanContext(bundle.trace_id, one.span_id, False, _FLAGS, state),
            SpanContext(bundle.trace_id, one.parent_id, remote, _FLAGS, state) if one.parent_id else None,
            self._resource,
            attributes=one.attributes,
            links=[Link(SpanContext(link.trace_id, link.span_id, False, _FLAGS)) for link in one.links],
            kind=_KINDS[one.kind],
            status=Status(StatusCode.ERROR, one.error) if one.error else _UNSET,
            start_time=_nanoseconds(bundle, one.start),
            end_time=_nanoseconds(bundle, max(one.start, one.end)),
            instrumentation_scope=self._scope,
        )


def outlet(version: str, attributes: Mapping[str, str], environment: Mapping[str, str]) -> Outlet:
    """An outlet to the collector of the environment.

    Args:
        attributes: of the process; what OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say goes before them.

    Raises:
        SettingsError: a variable of the queue is no number.
    """
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # the outlet says it, once and not every time
    own = Resource({"service.instance.id": str(uuid.uuid4()), "service.version": version, **attributes})
    resource = Resource.create().merge(own).merge(OTELResourceDetector().detect())
    exporter = Exporter(resource, version)
    return Outlet(exporter, exporter.close, Limits.read(environment))


def _nanoseconds(bundle: Bundle, moment: float) -> int:
    return bundle.epoch_ns + int(moment * 1e9)
