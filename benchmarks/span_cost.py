"""Cost of a call's spans: this project's recorder against the OpenTelemetry SDK with its batch processor.

``python -m benchmarks.span_cost [--calls N]``; both export to nothing, so that no collector is part of the figures.
"""

import sys
import time
from collections.abc import Callable, Sequence

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from benchmarks import harness
from benchmarks.harness import Figure
from services.tracing import otlp
from services.tracing.recording import Backend
from services.tracing.span_queue import Limits, SpanQueue
from services.tracing.tracer import Recorder, Sampler

STEPS = ("decode", "expand", "queue", "infer", "uncertainty", "policy", "ledger", "encode")
METHOD, ATTRIBUTES = "demur.v1.VesselService/Predict", {"demur.task": "vessel", "demur.model": "vessel-dnn-10"}
QUEUE = Limits(spans=1 << 20)
"""Queue that drops nothing, since the export is part of the cost."""
ROUNDS = 9


class Nowhere(SpanExporter):
    """Exporter that discards spans."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


class Converting(otlp.Exporter):
    """This project's exporter without a collector."""

    def __init__(self) -> None:
        super().__init__(Resource.get_empty(), "0")
        self._exporter = Nowhere()


def own(ratio: float) -> tuple[Callable[[], None], Callable[[], object]]:
    """Return a call of this project's recorder, and a function that stops its queue."""
    exporter = Converting()
    queue = SpanQueue(exporter, exporter.close, QUEUE)
    recorder = Recorder(Backend(queue, time.monotonic, time.time_ns), Sampler(ratio, True), ATTRIBUTES)

    def call() -> None:
        with recorder.begin(METHOD, dict, {"rpc.method": METHOD}) as trace:
            for name in STEPS:
                with trace.step(name):
                    pass
            trace.note("rpc.response.status_code", "OK")

    return call, lambda: queue.stop(60)


def sdk(ratio: float) -> tuple[Callable[[], None], Callable[[], object]]:
    """Return the same call of the SDK, and a function that stops its processor."""
    provider = TracerProvider(sampler=ParentBasedTraceIdRatio(ratio), resource=Resource.get_empty())
    provider.add_span_processor(BatchSpanProcessor(Nowhere(), max_queue_size=QUEUE.spans))
    tracer, context = provider.get_tracer("demur"), TraceContextTextMapPropagator()

    def call() -> None:
        attributes = {**ATTRIBUTES, "rpc.method": METHOD}
        with tracer.start_as_current_span(METHOD, context.extract({}), SpanKind.SERVER, attributes) as span:
            for name in STEPS:
                with tracer.start_as_current_span(name):
                    pass
            span.set_attribute("rpc.response.status_code", "OK")

    return call, provider.shutdown


def measure(calls: int) -> dict[tuple[str, float], tuple[float, float]]:
    """Return CPU seconds per call of the calling thread and of the process, the least of ``ROUNDS``."""
    best: dict[tuple[str, float], tuple[float, float]] = {}
    for _ in range(ROUNDS):
        for ratio in (1.0, 0.0):
            for name, make in (("recorder", own), ("SDK", sdk)):
                call, stop = make(ratio)
                thread, process = time.thread_time(), time.process_time()
                for _ in range(calls):
                    call()
                thread = time.thread_time() - thread
                stop()
                process = time.process_time() - process
                costs = best.get((name, ratio), (thread, process))
                best[name, ratio] = min(costs[0], thread), min(costs[1], process)
    return {case: (thread / calls, process / calls) for case, (thread, process) in best.items()}


def main() -> int:
    parser = harness.parser("span_cost", __doc__)
    parser.add_argument("--calls", type=int, default=3000)
    calls = parser.parse_args().calls
    harness.announce()
    figures = (
        Figure(
            "recorded call" if ratio else "unsampled call",
            name,
            thread * 1e6,
            "µs CPU",
            note=f"{process * 1e6:.1f} µs with the exporter",
        )
        for (name, ratio), (thread, process) in measure(calls).items()
    )
    return harness.report(figures, load=False)


if __name__ == "__main__":
    sys.exit(main())
