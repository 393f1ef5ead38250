"""Capacity of a replica: requests a second, latency at 70 % of that, memory and start, by task and number of cores.

    python -m benchmarks.capacity [--tasks vessel weather ...] [--cores 1 2] [--seconds 15] [--rounds 3] [--out PAGE.md]

Saturation is a closed loop of a few callers per core, each of which sends its next request when the last is answered;
latency is an open loop at 70 % of it. The service has the first cores and as many lanes, the load generator the last
core: if the service has that core, too, they share it, and the table notes it. Rounds are measured turn by turn,
protocols in each; figures are medians ± half the range of the rounds.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import harness, machine, markdown
from benchmarks.connections import Protocol
from benchmarks.open_loop import generate
from benchmarks.questions import TASKS, Question, question
from benchmarks.service import Service, look, pinned, running, watching

LOAD = 0.7
CALLERS = 6
"""Callers per core: enough that a request is always waiting, too few to be refused."""
PROTOCOLS: tuple[Protocol, ...] = ("grpc", "http")
_HEADINGS = (
    "question", "cores", "protocol", "requests/s", "units/s", "p50 at 70 %, ms", "p99 at 70 %, ms", "refused at 70 %",
    "idle RSS (PSS), MiB", "loaded RSS (PSS), MiB", "start, s",
)  # fmt: skip


@dataclass(frozen=True)
class Round:
    """Figures of one protocol in one round."""

    rate: float
    """Answers per second at saturation."""
    p50: float
    """Median latency at 70 % load, s."""
    p99: float
    refused: float
    """Share of refused requests at 70 % load."""
    rss: float
    """Largest resident memory under either load, MiB."""
    pss: float


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write the figures."""
    parser = harness.parser("capacity", __doc__)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 1000], help="of a question to a tabular task")
    parser.add_argument("--cores", nargs="+", type=int, default=[1, 2], help="of the service, as many lanes")
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=PROTOCOLS)
    parser.add_argument("--seconds", type=float, default=15, help="of each measurement, at least")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="also write the page here")
    options = parser.parse_args(arguments)
    lines = [f"{machine.line()}", "", markdown.head(_HEADINGS)]
    sys.stdout.write("\n".join(lines) + "\n")
    for task in options.tasks:
        questions = (
            [question(task, count) for count in options.rows] if task in ("vessel", "weather") else [question(task)]
        )
        for count in options.cores:
            for query in questions:
                for line in measure(query, count, options.protocols, options.seconds, options.rounds):
                    lines.append(line)
                    sys.stdout.write(f"{line}\n")
                    sys.stdout.flush()
    lines += ["", f"* the load generator shares a core with the service. Load at the end: {os.getloadavg()[0]:.1f}."]
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def measure(query: Question, count: int, protocols: Sequence[Protocol], seconds: float, rounds: int) -> list[str]:
    """Return the lines of one question on ``count`` cores."""
    cores = sorted(os.sched_getaffinity(0))
    service_cores, own_cores = set(cores[:count]), {cores[-1]}
    if count > len(cores):
        return []
    results: dict[Protocol, list[Round]] = {protocol: [] for protocol in protocols}
    with pinned(own_cores), running(service_cores, query.task, lanes=str(count)) as service:
        idle, start = look(service), service.start_seconds
        single = _single(query, service, protocols[0], own_cores)
        least = max(seconds, 20 * single / count)
        for _ in range(rounds):
            for protocol in protocols:
                results[protocol].append(_round(query, service, protocol, least, count, own_cores))
    shared = "*" * (cores[-1] in service_cores)
    return [
        markdown.row(
            (
                *(query.name, f"{count}{shared}", protocol),
                *(_spread([factor * turn.rate for turn in each]) for factor in (1, query.units)),
                *(_spread([1e3 * getattr(turn, name) for turn in each]) for name in ("p50", "p99")),
                f"{np.median([turn.refused for turn in each]):.2%}",
                f"{idle['RSS']:.0f} ({idle['PSS']:.0f})",
                f"{max(turn.rss for turn in each):.0f} ({max(turn.pss for turn in each):.0f})",
                f"{start:.1f}",
            )
        )
        for protocol, each in results.items()
    ]


def saturation(
    query: Question, service: Service, protocol: Protocol, seconds: float, cores: int, own_cores: set[int]
) -> float:
    """Return the answers per second to callers that send requests without a pause."""
    callers = CALLERS * cores
    plan = query.plan(service, protocol, seconds, callers=callers, connections=callers)
    return generate(plan, own_cores).rate


def _single(query: Question, service: Service, protocol: Protocol, own_cores: set[int]) -> float:
    """Return the latency of a single caller, s; the first calls are not counted."""
    plan = query.plan(service, protocol, 2.0, callers=1, connections=1)
    return generate(plan, own_cores).quantiles(0.5)[0]


def _round(
    query: Question, service: Service, protocol: Protocol, seconds: float, cores: int, own_cores: set[int]
) -> Round:
    with watching(service) as watched:
        rate = saturation(query, service, protocol, seconds, cores, own_cores)
        time.sleep(1.5)  # after a second without refusals, bursts are admitted again
        ended = generate(query.plan(service, protocol, seconds, rate=LOAD * rate), own_cores)
    p50, p99 = ended.quantiles(0.5, 0.99)
    return Round(rate, p50, p99, 1 - float(ended.answered.mean()), watched.most("RSS"), watched.most("PSS"))


def _spread(values: list[float]) -> str:
    middle, half = float(np.median(values)), (max(values) - min(values)) / 2
    digits = 0 if middle >= 100 else 1 if middle >= 10 else 2
    return f"{middle:,.{digits}f} ± {half:,.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
