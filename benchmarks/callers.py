"""Cost of a request in the server's processor time: sixteen concurrent callers with one row each."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import Any

import grpc
import numpy as np
import uvloop

from benchmarks import floor, wire
from benchmarks.harness import Figure
from benchmarks.inputs import artefact, rows
from benchmarks.service import HOST, WITHOUT_LEDGER, Pair, Service

CALLERS = 16
Case = Callable[[list[float], float], Coroutine[Any, Any, None]]
"""Load that appends the durations of its calls to a list, for a number of seconds."""


def measure(pair: Pair, cores: set[int], seconds: float, rounds: int = 3) -> Iterator[Figure]:
    """Yield server CPU per request, requests per second and p99, for each protocol in turn.

    Args:
        cores: cores of the service, on which a bare gRPC server runs, too.
    """
    with floor.bare(cores, 200) as bare:
        yield from _measure(pair, bare, seconds, rounds)


def _measure(pair: Pair, bare: Service, seconds: float, rounds: int) -> Iterator[Figure]:
    part = f"{CALLERS} callers, one row"
    source = artefact(pair.task)
    batch = rows(source, 1)
    packed = wire.protobuf_body(pair.task, source.schema, batch)
    http = wire.requests(pair.task, source.schema, batch, HOST)
    cases: dict[str, tuple[Service, Case]] = {
        "bare gRPC": (bare, lambda times, s: _grpc(bare, packed, times, s, CALLERS))
    }
    for ending, service in pair.named().items():
        cases |= {f"{name}{ending}": (service, case) for name, case in _protocols(service, packed, http).items()}
    durations: dict[str, list[float]] = {name: [] for name in cases}
    server: dict[str, list[float]] = {name: [] for name in cases}
    share: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (target, case) in cases.items():
            took: list[float] = []
            cpu, own, start = target.cpu_seconds(), time.process_time(), time.perf_counter()
            uvloop.run(case(took, seconds / rounds / len(cases)))
            server[name].append((target.cpu_seconds() - cpu) / len(took))
            share[name].append((time.process_time() - own) / (time.perf_counter() - start))
            durations[name] += took
    cost = {name: float(np.median(each)) * 1e3 for name, each in server.items()}
    rate = {name: CALLERS * len(each) / sum(each) for name, each in durations.items()}
    for name in cases:
        if name.endswith(WITHOUT_LEDGER):
            continue
        bare_cost, bare_rate = cost.get(f"{name}{WITHOUT_LEDGER}"), rate.get(f"{name}{WITHOUT_LEDGER}")
        each = sorted(server[name])
        spread = f"{each[0] * 1e3:.3f} to {each[-1] * 1e3:.3f}"
        limit = None if name == "bare gRPC" else 0.5
        yield Figure(part, f"{name}: server CPU", cost[name], "ms/request", at_most=limit, note=spread, bare=bare_cost)
        p99 = float(np.quantile(durations[name], 0.99)) * 1e3
        note = f"p99 {p99:.1f} ms, generator's CPU {np.median(share[name]):.0%}"
        yield Figure(part, f"{name}: rate", rate[name], "requests/s", note=note, bare=bare_rate)


def _protocols(service: Service, packed: bytes, http: Mapping[str, bytes]) -> dict[str, Case]:
    return {
        "gRPC": lambda times, s: _grpc(service, packed, times, s, CALLERS),
        "gRPC, one connection": lambda times, s: _grpc(service, packed, times, s, 1),
        "HTTP, protobuf": lambda times, s: _http(service, http["protobuf"], times, s),
        "HTTP, JSON": lambda times, s: _http(service, http["json"], times, s),
    }


async def _grpc(service: Service, packed: bytes, times: list[float], seconds: float, connections: int) -> None:
    options = (("grpc.use_local_subchannel_pool", 1),)
    channels = [grpc.aio.insecure_channel(service.grpc, options=options) for _ in range(connections)]
    calls = [channel.unary_unary(wire.predict(service.task)) for channel in channels]
    try:
        await _all(times, seconds, [lambda call=calls[i % connections]: call(packed) for i in range(CALLERS)])
    finally:
        for channel in channels:
            await channel.close()


async def _http(service: Service, request: bytes, times: list[float], seconds: float) -> None:
    streams = [await asyncio.open_connection(HOST, service.http_port, limit=1 << 24) for _ in range(CALLERS)]

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(request)
        reply = wire.Reply()
        while not reply.complete:
            reply.feed(await reader.read(1 << 20))

    try:
        await _all(times, seconds, [lambda pair=pair: ask(*pair) for pair in streams])
    finally:
        for _, writer in streams:
            writer.close()


async def _all(times: list[float], seconds: float, asks: list[Callable[[], Awaitable[object]]]) -> None:
    """Run callers that each repeat a call when it is answered; first calls open connections and do not count."""
    await asyncio.gather(*(ask() for ask in asks))
    end = time.perf_counter() + seconds

    async def caller(ask: Callable[[], Awaitable[object]]) -> None:
        while (start := time.perf_counter()) < end:
            await ask()
            times.append(time.perf_counter() - start)

    await asyncio.gather(*map(caller, asks))
