"""Overload: latency of answered calls, refusals, memory and recovery under more load than a replica can answer.

    python -m benchmarks.overload [--task vessel] [--protocols grpc http] [--times 5] [--seconds 60] [--cores 1]
    python -m benchmarks.overload --callers 16 64 256 [--seconds 3]
    python -m benchmarks.overload --soak [--seconds 600]

Capacity is measured first (callers that send without a pause), then nominal latency (an open loop at 70 % of it), then
the flood: an open loop at ``--times`` the capacity over 64 connections, in a separate process on another core. Single
calls follow, until five in a row take no longer than nominal. ``--callers`` runs closed loops instead: so many callers
with a connection each, who call again as soon as they are answered or refused. ``--soak`` runs 70 % for ten minutes and
reports growth.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks import harness
from benchmarks.capacity import LOAD, PROTOCOLS, saturation
from benchmarks.connections import Protocol
from benchmarks.harness import Figure
from benchmarks.open_loop import Ended, generate
from benchmarks.questions import TASKS, Question, question
from benchmarks.service import Service, Watched, look, pinned, running, watching

IN_WORDS = {"grpc": {"RESOURCE_EXHAUSTED"}, "http": {"429"}}
"""Refusals that contain a retry delay."""
SETTLED_SECONDS = 1.0
"""Beginning of a flood, which may be a burst and is reported separately, s."""
_CAPACITY_SECONDS = 6.0
_RECOVERY_SECONDS = 15.0
_MEMORY_MIB = 16.0


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the figures; return 0 even if a target is missed."""
    parser = harness.parser("overload", __doc__)
    parser.add_argument("--task", choices=TASKS, default="vessel")
    parser.add_argument("--rows", type=int, default=1, help="of a question to a tabular task")
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=PROTOCOLS)
    parser.add_argument("--times", type=float, default=5, help="the capacity that was measured")
    parser.add_argument("--capacity", type=float, help="requests/s, instead of measuring it")
    parser.add_argument("--deadline", type=float, default=0, help="seconds, sent with each request; 0: none")
    parser.add_argument("--callers", type=int, nargs="+", default=[], help="closed loops of so many callers instead")
    parser.add_argument(
        "--seconds", type=float, help="of the flood (60), of each closed loop (3), or of the soak (600)"
    )
    parser.add_argument("--cores", type=int, default=1, help="of the service, as many lanes")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings, as waiting_calls=12")
    parser.add_argument("--soak", action="store_true")
    options = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    query = question(options.task, options.rows)
    settings = {"lanes": str(options.cores)} | dict(pair.split("=", 1) for pair in options.set)
    harness.announce()
    with pinned({cores[-1]}), running(set(cores[: options.cores]), options.task, **settings) as service:
        for protocol in options.protocols:
            load = Load(query, service, protocol, {cores[-1]}, options.deadline)
            if options.callers:
                harness.report(crowded(load, options.callers, options.seconds or 3.0))
                continue
            capacity = options.capacity or saturation(
                query, service, protocol, _CAPACITY_SECONDS, options.cores, {cores[-1]}
            )
            if options.soak:
                figures = soaked(load, capacity, options.seconds or 600)
            else:
                figures = flooded(load, capacity, options.times, options.seconds or 60)
            harness.report(figures)
    return 0


class Load:
    """Open loops of one request."""

    def __init__(
        self, asked: Question, service: Service, protocol: Protocol, cores: set[int], deadline: float = 0.0
    ) -> None:
        self.asked = asked
        self.service = service
        self.protocol = protocol
        self.cores = cores
        self._deadline = deadline

    def run(self, rate: float, seconds: float, **wishes: float) -> Ended:
        wishes = {"deadline_seconds": self._deadline} | wishes
        return generate(self.asked.plan(self.service, self.protocol, seconds, rate=rate, **wishes), self.cores)

    def crowd(self, callers: int, seconds: float) -> Ended:
        """Run a closed loop of ``callers`` callers, each with a connection."""
        plan = self.asked.plan(self.service, self.protocol, seconds, callers=callers, connections=callers)
        return generate(plan, self.cores)

    @property
    def expected(self) -> set[str]:
        """Codes with which unanswered calls may end."""
        late = {"DEADLINE_EXCEEDED", "504"} if self._deadline else set()
        return IN_WORDS[self.protocol] | late


def flooded(load: Load, capacity: float, times: float, seconds: float) -> Iterator[Figure]:
    """Measure nominal load, flood and recovery."""
    part = f"{load.asked.name}, {load.protocol}: {times:g} x {capacity:,.0f} requests/s"
    nominal = load.run(LOAD * capacity, max(2.0, seconds / 6))
    p50, p99 = nominal.quantiles(0.5, 0.99)
    refused = 1 - float(nominal.answered.mean())
    note = f"p50 {1e3 * p50:.2f} ms, {refused:.2%} refused, generator's CPU {nominal.cpu_share:.0%}"
    yield Figure(part, f"p99 at {LOAD:.0%}", 1e3 * p99, "ms", note=note)
    time.sleep(1.5)
    with watching(load.service) as watched:
        flood = load.run(times * capacity, seconds)
        recovery = float(flood.ended.max() - flood.due.max()) + _recovery(load, 2 * p99)
    yield from _answered(part, flood, p99, seconds)
    yield from _refused(part, load, flood)
    yield _memory(part, watched)
    yield Figure(
        part,
        "recovery",
        recovery,
        "s",
        at_most=1.0,
        note="from the last request until five calls in a row take no longer",
    )


def _answered(part: str, flood: Ended, nominal: float, seconds: float) -> Iterator[Figure]:
    since = min(SETTLED_SECONDS, seconds / 4)
    p50, p99 = flood.quantiles(0.5, 0.99, since=since)
    late = f"requests left {1e3 * flood.late:.1f} ms late (p99), generator's CPU {flood.cpu_share:.0%}"
    yield Figure(part, "answered in the flood", flood.answered.sum() / seconds, "requests/s", note=late)
    yield Figure(part, "p99 of those answered", 1e3 * p99, "ms", note=f"p50 {1e3 * p50:.2f} ms")
    yield Figure(part, f"p99 over p99 at {LOAD:.0%}", p99 / nominal, "x", at_most=2.0)
    burst = flood.latency[flood.answered & (flood.due < since)]
    if len(burst):
        yield Figure(part, "the longest of its first second", 1e3 * float(burst.max()), "ms")


def _refused(part: str, load: Load, flood: Ended) -> Iterator[Figure]:
    counts = Counter(flood.code[~flood.answered].tolist())
    for code, count in counts.most_common():
        hints = int(flood.hinted[flood.code == code].sum())
        yield Figure(part, f"ended with {code}", count, "requests", note=f"{hints} say when to come back")
    without = sum(count for code, count in counts.items() if code not in load.expected)
    share = without / max(1, sum(counts.values()))
    yield Figure(part, "refused in no words", 100 * share, "%", at_most=0.0, note="of those that were refused")
    if load.protocol == "grpc":
        note = "CANCELLED is gRPC's library, whose calls waited for the event loop"
        yield Figure(part, "of these CANCELLED", float(counts.get("CANCELLED", 0)), "requests", note=note)


def _memory(part: str, watched: Watched) -> Figure:
    growth = watched.growth("RSS", 0.2)
    note = f"most {watched.most('RSS'):.0f} MiB, threads {watched.most('threads'):.0f}"
    return Figure(part, "memory in the flood", growth, "MiB grown", at_most=_MEMORY_MIB, note=note)


def _recovery(load: Load, limit: float) -> float:
    """Return the time from the end of a flood until single calls are as fast as before, s."""
    over = time.monotonic()
    while time.monotonic() - over < _RECOVERY_SECONDS:
        began = time.monotonic() - over
        single = load.asked.plan(load.service, load.protocol, 0.5, callers=1, connections=1)
        ended = generate(single, load.cores)
        quick = ended.answered & (ended.latency <= limit)
        for first in range(len(quick) - 4):
            if quick[first : first + 5].all():
                return max(0.0, began + float(ended.due[first])) if first else 0.0
    return float("inf")


def crowded(load: Load, counts: Sequence[int], seconds: float) -> Iterator[Figure]:
    """Measure closed loops of these numbers of callers, one after another; the first second of each is not counted."""
    part = f"{load.asked.name}, {load.protocol}: callers in a closed loop"
    load.crowd(1, SETTLED_SECONDS)
    for count in counts:
        with watching(load.service) as watched:
            ended = load.crowd(count, SETTLED_SECONDS + seconds)
        late = ended.due >= SETTLED_SECONDS
        answered, calls = int((ended.answered & late).sum()), int(late.sum())
        p50, p99 = ended.quantiles(0.5, 0.99, since=SETTLED_SECONDS)
        codes = dict(Counter(ended.code[late & ~ended.answered].tolist()))
        note = f"p50 {1e3 * p50:.2f} ms, p99 {1e3 * p99:.2f} ms, most {watched.most('RSS'):.0f} MiB"
        yield Figure(part, f"{count} callers: answered", answered / seconds, "requests/s", note=note)
        refused = 100 * (calls - answered) / max(1, calls)
        yield Figure(part, f"{count} callers: refused", refused, "%", note=f"{codes or 'none'} of {calls:,} calls")


def soaked(load: Load, capacity: float, seconds: float) -> Iterator[Figure]:
    """Yield the growth of memory and other resources at 70 % of the capacity."""
    part = f"{load.asked.name}, {load.protocol}: {LOAD:.0%} of {capacity:,.0f} requests/s for {seconds:,.0f} s"
    with watching(load.service, max(0.5, seconds / 120), sample=partial(look, series=True)) as watched:
        ended = load.run(LOAD * capacity, seconds)
    p50, p99 = ended.quantiles(0.5, 0.99)
    failed = 1 - float(ended.answered.mean())
    yield Figure(part, "p99", 1e3 * p99, "ms", note=f"p50 {1e3 * p50:.2f} ms, {failed:.3%} not answered")
    limits: dict[str, float | None] = {
        "RSS": _MEMORY_MIB,
        "PSS": _MEMORY_MIB,
        "open files": 4.0,
        "connections": None,
        "threads": 2.0,
        "metric series": 0.0,
    }
    for name, limit in limits.items():
        unit = "MiB grown" if name.endswith("SS") else "more"
        first, last, most = watched.values[name][0], watched.last(name), watched.most(name)
        note = f"{first:.0f} at first, {last:.0f} at last, most {most:.0f}"
        growth = watched.growth(name)
        yield Figure(part, name, 0.0 if abs(growth) < 1e-6 else growth, unit, at_most=limit, note=note)


if __name__ == "__main__":
    sys.exit(main())
