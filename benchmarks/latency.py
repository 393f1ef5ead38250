"""Latency of a single caller: the model called in process against gRPC and HTTP, turn by turn."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import grpc

import demur
from benchmarks import floor, wire
from benchmarks.harness import Figure, Timed, interleaved
from benchmarks.inputs import artefact, direct, rowed, rows
from benchmarks.service import HOST, Service


def measure(service: Service, cores: set[int], seconds: float) -> Iterator[Figure]:
    """Yield figures for one row and for 1000 packed rows; ``cores`` are the service's, for the bare server."""
    for count in (1, 1000):
        timed = _turns(service, cores, count, seconds)
        yield from _figures(count, timed)


def _turns(service: Service, cores: set[int], count: int, seconds: float) -> dict[str, Timed]:
    source = artefact(service.task)
    batch = rows(source, count)
    packed = wire.protobuf_body(service.task, source.schema, batch)
    over_http = wire.requests(service.task, source.schema, batch, HOST)
    model = direct(source)
    with ExitStack() as stack:
        channel = stack.enter_context(grpc.insecure_channel(service.grpc))
        client = stack.enter_context(demur.connect(service.grpc))
        stub = wire.stub(channel, service.task)
        nothing = stack.enter_context(floor.bare(cores, len(stub(packed)), service.task))
        bare = wire.stub(stack.enter_context(grpc.insecure_channel(nothing.grpc)), service.task)
        http = {form: stack.enter_context(closing(wire.HttpConnection(HOST, service.http_port))) for form in over_http}
        cases: dict[str, Callable[[], object]] = {
            "in process": lambda: model(batch),
            "bare gRPC, no model": lambda: bare(packed),
            "gRPC, stub": lambda: stub(packed),
            "gRPC, SDK": lambda: getattr(client, service.task).predict(batch),
            "HTTP, protobuf": lambda: http["protobuf"].ask(over_http["protobuf"]),
            "HTTP, JSON": lambda: http["json"].ask(over_http["json"]),
        }
        return interleaved(cases, seconds)


def _figures(count: int, timed: dict[str, Timed]) -> Iterator[Figure]:
    part = f"One caller, {rowed(count)}"
    model = timed["in process"].p50
    for name, case in timed.items():
        yield Figure(part, name, case.p50 * 1e3, "ms p50", note=case.note)
    for name, case in timed.items():
        if name in ("in process", "bare gRPC, no model"):
            continue
        ours = name.startswith("gRPC")
        if count == 1:
            yield Figure(part, f"{name}: added", (case.p50 - model) * 1e3, "ms p50", at_most=1.0 if ours else None)
        else:
            yield Figure(part, f"{name}: over in process", case.p50 / model, "x", at_most=1.15 if ours else None)
    ratio = timed["HTTP, protobuf"].p50 / timed["gRPC, stub"].p50
    yield Figure(part, "HTTP protobuf over gRPC", ratio, "x", at_most=1.3)
