"""Measures of one lane: latency of one caller, rate and cost of sixteen, memory."""

import time
from dataclasses import dataclass

from benchmarks.connections import Plan
from benchmarks.open_loop import Ended, generate
from benchmarks.race import bodies
from benchmarks.race.bodies import Lane
from benchmarks.race.courses import Course
from benchmarks.race.environments import LeftOut
from benchmarks.service import Service

CALLERS = 16
_READY_SECONDS = 60.0


@dataclass(frozen=True)
class Measured:
    """Figures of one lane in one round."""

    one_p50_ms: float
    """Latency of one row for a single caller."""
    one_p99_ms: float
    many_p50_ms: float
    """Latency of 1000 rows for a single caller."""
    rate: float
    """Calls a second of one row at 16 callers."""
    cpu_ms: float
    """CPU time of all processes of the server for each of those calls."""
    pss_mib: float
    """Proportional memory (PSS) of all processes of the server, afterwards."""


def measured(service: Service, lane: Lane, cores: set[int], seconds: float, course: Course | None = None) -> Measured:
    """Measure a lane with the load generator on these cores, about ``4 seconds + 1`` seconds.

    Raises:
        LeftOut: the lane does not answer, or answers only some of the calls.
    """
    small, large = (bodies.body(lane.form, count, course) for count in bodies.COUNTS)
    _until_answered(service, lane, small, cores)
    one = _asked(service, lane, small, cores, seconds, 1)
    many = _asked(service, lane, large, cores, seconds, 1)
    before = service.cpu_seconds()
    busy = _asked(service, lane, small, cores, 2 * seconds, CALLERS)
    cpu = service.cpu_seconds() - before
    p50, p99 = one.quantiles(0.5, 0.99, since=0.2 * seconds)
    (many_p50,) = many.quantiles(0.5, since=0.2 * seconds)
    calls = int(busy.answered.sum())
    return Measured(p50 * 1e3, p99 * 1e3, many_p50 * 1e3, busy.rate, cpu / calls * 1e3, service.pss_mib())


def plan(service: Service, lane: Lane, body: bytes, seconds: float, callers: int) -> Plan:
    """Return a load of ``callers`` callers, each with a connection and a closed loop."""
    port = service.grpc_port if lane.protocol == "grpc" else service.http_port
    kind = lane.content_type
    return Plan(lane.protocol, port, lane.path, body, seconds, callers=callers, connections=callers, content_type=kind)


def _asked(service: Service, lane: Lane, body: bytes, cores: set[int], seconds: float, callers: int) -> Ended:
    ended = generate(plan(service, lane, body, seconds, callers), cores)
    if not ended.answered.all() or not len(ended.code):
        raise LeftOut(f"{lane.name}: not all calls are answered: {sorted(set(ended.code.tolist()))}")
    return ended


def _until_answered(service: Service, lane: Lane, body: bytes, cores: set[int]) -> None:
    """Ask for half a second at a time until some of it was answered, so that what is lazy is done."""
    end = time.monotonic() + _READY_SECONDS
    why = "no connection"
    while time.monotonic() < end:
        try:
            ended = generate(plan(service, lane, body, 0.5, 1), cores)
        except Exception as error:  # the generator's process fails while nobody listens
            why = type(error).__name__
        else:
            if ended.answered.any():
                return
            why = ", ".join(sorted(set(ended.code.tolist())))
        time.sleep(0.5)
    raise LeftOut(f"{lane.name}: no answer in {_READY_SECONDS:g} s: {why}")
