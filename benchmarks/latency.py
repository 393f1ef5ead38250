"""Latency of a single caller: the model called in process against gRPC and HTTP, turn by turn."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import grpc
import numpy as np
from numpy.typing import NDArray

import demur
from benchmarks import floor, wire
from benchmarks.harness import Figure, Timed, interleaved
from benchmarks.inputs import artefact, direct, rowed, rows
from benchmarks.service import HOST, WITHOUT_LEDGER, Pair, Service
from models.artefact import Artefact


def measure(pair: Pair, cores: set[int], seconds: float) -> Iterator[Figure]:
    """Yield figures for one row and for 1000 packed rows; ``cores`` are the service's, for the bare server."""
    for count in (1, 1000):
        timed = _turns(pair, cores, count, seconds)
        yield from _figures(count, timed)


def _turns(pair: Pair, cores: set[int], count: int, seconds: float) -> dict[str, Timed]:
    source = artefact(pair.task)
    batch = rows(source, count)
    packed = wire.protobuf_body(pair.task, source.schema, batch)
    model = direct(source)
    with ExitStack() as stack:
        stub = wire.stub(stack.enter_context(grpc.insecure_channel(pair.default.grpc)), pair.task)
        nothing = stack.enter_context(floor.bare(cores, len(stub(packed)), pair.task))
        bare = wire.stub(stack.enter_context(grpc.insecure_channel(nothing.grpc)), pair.task)
        cases: dict[str, Callable[[], object]] = {
            "in process": lambda: model(batch),
            "bare gRPC, no model": lambda: bare(packed),
        }
        for ending, service in pair.named().items():
            cases |= {f"{name}{ending}": case for name, case in _protocols(service, source, batch, stack).items()}
        return interleaved(cases, seconds)


def _protocols(
    service: Service, source: Artefact, batch: NDArray[np.float32], stack: ExitStack
) -> dict[str, Callable[[], object]]:
    """Return calls of a service with the same rows over each protocol; connections are closed with the stack."""
    stub = wire.stub(stack.enter_context(grpc.insecure_channel(service.grpc)), service.task)
    client = stack.enter_context(demur.connect(service.grpc))
    packed = wire.protobuf_body(service.task, source.schema, batch)
    over_http = wire.requests(service.task, source.schema, batch, HOST)
    http = {form: stack.enter_context(closing(wire.HttpConnection(HOST, service.http_port))) for form in over_http}
    return {
        "gRPC, stub": lambda: stub(packed),
        "gRPC, SDK": lambda: getattr(client, service.task).predict(batch),
        "HTTP, protobuf": lambda: http["protobuf"].ask(over_http["protobuf"]),
        "HTTP, JSON": lambda: http["json"].ask(over_http["json"]),
    }


def _figures(count: int, timed: dict[str, Timed]) -> Iterator[Figure]:
    part = f"One caller, {rowed(count)}"
    model = timed["in process"].p50
    without = {name: timed.get(f"{name}{WITHOUT_LEDGER}") for name in timed if not name.endswith(WITHOUT_LEDGER)}
    for name, other in without.items():
        bare = None if other is None else other.p50 * 1e3
        yield Figure(part, name, timed[name].p50 * 1e3, "ms p50", note=timed[name].note, bare=bare)
    for name, other in without.items():
        if other is None:
            continue
        p50, ours = timed[name].p50, name.startswith("gRPC")
        if count == 1:
            added, limit = (p50 - model) * 1e3, 1.0 if ours else None
            yield Figure(part, f"{name}: added", added, "ms p50", at_most=limit, bare=(other.p50 - model) * 1e3)
        else:
            limit = 1.15 if ours else None
            yield Figure(part, f"{name}: over in process", p50 / model, "x", at_most=limit, bare=other.p50 / model)
    ratios = [timed[f"HTTP, protobuf{end}"].p50 / timed[f"gRPC, stub{end}"].p50 for end in ("", WITHOUT_LEDGER)]
    yield Figure(part, "HTTP protobuf over gRPC", ratios[0], "x", at_most=1.3, bare=ratios[1])
