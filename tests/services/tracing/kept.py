"""Traces that are kept in memory, as the schedule, the pipeline and the transports made them."""

import itertools
import time
from dataclasses import dataclass, field

from services.tracing.context import span_text, trace_text
from services.tracing.recording import Backend, Bundle, SpanRecord
from services.tracing.tracer import Recorder, Sampler

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
"""A caller's span that is recorded."""
UNSAMPLED = f"00-{TRACE}-{SPAN}-00"


@dataclass
class Kept:
    """Queue that keeps the bundles put into it."""

    bundles: list[Bundle] = field(default_factory=list)

    def put(self, bundle: Bundle) -> None:
        self.bundles.append(bundle)

    def recorder(self, ratio: float = 1.0) -> Recorder:
        """Identities are 1, 2, 3 …"""
        numbers = itertools.count(1)
        backend = Backend(self, time.monotonic, time.time_ns, lambda bits: next(numbers))
        return Recorder(backend, Sampler(ratio, True), {"demur.task": "toy"})

    @property
    def calls(self) -> list[Bundle]:
        return [bundle for bundle in self.bundles if bundle.spans[0].kind == "server"]

    @property
    def passes(self) -> list[SpanRecord]:
        return [bundle.spans[0] for bundle in self.named("pass")]

    def named(self, name: str) -> list[Bundle]:
        return [bundle for bundle in self.bundles if bundle.spans[0].name == name]


def step(bundle: Bundle, name: str) -> SpanRecord:
    """The one station of a name."""
    (match,) = (span for span in bundle.spans[1:] if span.name == name)
    return match


def names(bundle: Bundle) -> list[str]:
    """Stations, by their begin."""
    return [span.name for span in sorted(bundle.spans[1:], key=lambda span: span.start)]


def parent(bundle: Bundle) -> tuple[str, str]:
    """Trace and span that the outermost span continues."""
    return trace_text(bundle.trace_id), span_text(bundle.spans[0].parent_id)
