"""A collector of traces: a small HTTP server that decodes what OpenTelemetry's exporter sends to it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Seen:
    """A span as it came."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    """Empty: none."""
    start: int
    end: int
    """Nanoseconds since 1970."""
    kind: int
    """2 is a server's."""
    state: str
    error: str | None
    """Description of an error; None: it has no such status."""
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    """Trace and span of each."""
    resource: dict[str, Any]


@dataclass
class Collector:
    """What has come so far."""

    endpoint: str
    spans: list[Seen] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans if span.name == name]

    def of(self, trace_id: str) -> list[Seen]:
        """Spans of a trace, by their begin."""
        return sorted((span for span in self.spans if span.trace_id == trace_id), key=lambda span: span.start)

    def children(self, span: Seen) -> list[Seen]:
        return [child for child in self.of(span.trace_id) if child.parent_id == span.span_id]

    def until(self, condition: Callable[[], Any], seconds: float = 60.0) -> None:
        """Waits until something has come."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"it never came; there are {[span.name for span in self.spans]}"
            time.sleep(0.01)


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    """A collector on a loopback port; with another status it takes nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if status == 200 and self.path == "/v1/traces":
                collector.bodies.append(body)
                collector.spans += decoded(body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(status if self.path == "/v1/traces" else 404)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        collector = Collector(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


def decoded(body: bytes) -> Iterator[Seen]:
    """Spans of a message."""
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _values(group.resource.attributes)
        for scope in group.scope_spans:
            assert scope.scope.name == "demur"
            for span in scope.spans:
                yield Seen(
                    name=span.name,
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    start=span.start_time_unix_nano,
                    end=span.end_time_unix_nano,
                    kind=span.kind,
                    state=span.trace_state,
                    error=span.status.message if span.status.code == 2 else None,
                    attributes=_values(span.attributes),
                    links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                    resource=resource,
                )


def _values(attributes: Any) -> dict[str, Any]:
    return {attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in attributes}


def tree(spans: list[Seen], links: bool = False) -> str:
    """A trace as text: duration, name and what matters of each span."""
    children: dict[str, list[Seen]] = {}
    known = {span.span_id for span in spans}
    for span in sorted(spans, key=lambda item: item.start):
        children.setdefault(span.parent_id if span.parent_id in known else "", []).append(span)

    def lines(parent: str, depth: int) -> Iterator[str]:
        for span in children.get(parent, ()):
            name = "  " * depth + span.name
            yield f"{name:<44} {(span.end - span.start) / 1e6:8.3f} ms"
            yield from lines(span.span_id, depth + 1)

    return "\n".join(lines("", 0))
