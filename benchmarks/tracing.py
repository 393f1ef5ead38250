"""Cost of traces for a call of one row: services that trace none, some and all calls, in turn.

``python -m benchmarks.tracing [--seconds S] [--before DIRECTORY]``; spans go to a collector that discards them.
"""

import http.client
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc

from benchmarks import harness, wire
from benchmarks.harness import Figure, Timed, interleaved
from benchmarks.inputs import artefact, rows
from benchmarks.processes import PROJECT, child
from benchmarks.service import HOST, Service, pinned, running

OFF, SOME, ALL, BEFORE = "tracing off", "1 % traced", "100 % traced", "the code before"
_COLLECTOR = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200); self.send_header("content-length", "0"); self.end_headers()
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def measure(seconds: float, before: Path | None) -> Iterator[Figure]:
    """Measure one row over gRPC and HTTP: p50, its excess over no tracing, and the service's CPU time."""
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        endpoint = stack.enter_context(collector({cores[-1]}))
        kinds: dict[str, tuple[Path, Mapping[str, str]]] = {
            OFF: (PROJECT, {}),
            SOME: (PROJECT, _traced(endpoint, 0.01)),
            ALL: (PROJECT, _traced(endpoint, 1.0)),
        }
        if before is not None:
            kinds = {BEFORE: (before, {})} | kinds
        services = {
            name: stack.enter_context(running({cores[0]}, project=project, environment=environment, ledger="none"))
            for name, (project, environment) in kinds.items()
        }
        stack.enter_context(pinned({cores[-1]}))
        for part, caller in (("gRPC, one row", _grpc), ("HTTP, one row", _http)):
            cases = {name: caller(stack, service) for name, service in services.items()}
            computed = {name: service.cpu_seconds() for name, service in services.items()}
            timed = interleaved(cases, seconds / 2, warm_up=200)
            yield from _compared(part, timed, {n: services[n].cpu_seconds() - computed[n] for n in services})


def _compared(part: str, timed: dict[str, Timed], computed: dict[str, float]) -> Iterator[Figure]:
    base = timed[BEFORE] if BEFORE in timed else timed[OFF]
    for name, case in timed.items():
        calls = len(case.seconds) + 200
        note = f"p99 {case.p99 * 1e3:.3f} ms, {computed[name] / calls * 1e3:.3f} ms CPU a call, ±{case.spread():.0%}"
        yield Figure(part, name, case.p50 * 1e3, "ms p50", note=note)
        if case is not base:
            at_most = {OFF: 0.01, SOME: 0.05}.get(name)
            yield Figure(part, f"{name}: added", (case.p50 - base.p50) * 1e3, "ms p50", at_most=at_most)


def _traced(endpoint: str, ratio: float) -> dict[str, str]:
    return {
        "DEMUR_TRACING": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": str(ratio),
    }


def _grpc(stack: ExitStack, service: Service) -> Callable[[], object]:
    source = artefact()
    packed = wire.protobuf_body("vessel", source.schema, rows(source, 1))
    stub = wire.stub(stack.enter_context(grpc.insecure_channel(service.grpc)), service.task)
    return lambda: stub(packed)


def _http(stack: ExitStack, service: Service) -> Callable[[], object]:
    source = artefact()
    body = wire.json_body(source.schema, rows(source, 1))
    connection = http.client.HTTPConnection(HOST, service.http_port)
    stack.callback(connection.close)

    def ask() -> object:
        try:
            connection.request("POST", "/v1/predict", body, {"content-type": "application/json"})
        except OSError:  # the connection was idle during other turns; the next request reconnects
            connection.close()
            return ask()
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return content

    return ask


@contextmanager
def collector(cores: set[int]) -> Iterator[str]:
    """Run a collector in a process of its own that reads and discards spans; yield its URL."""
    with child(["-c", _COLLECTOR], cores) as process:
        assert process.stdout is not None
        yield f"http://{HOST}:{int(process.stdout.readline())}"


def main() -> int:
    parser = harness.parser("tracing", __doc__, seconds=60)
    parser.add_argument("--before", type=Path, metavar="DIRECTORY", help="a checkout to compare with")
    options = parser.parse_args()
    harness.announce()
    return harness.report(measure(options.seconds, options.before and options.before.resolve()))


if __name__ == "__main__":
    sys.exit(main())
