"""Single interactive rows while a bulk stream runs, against the same rows on an idle service."""

import itertools
import sys
import time
from collections.abc import Iterator

import numpy as np

import demur
from benchmarks.harness import Figure
from benchmarks.inputs import artefact, rows
from benchmarks.processes import child
from benchmarks.service import WITHOUT_LEDGER, Pair, Service
from benchmarks.stream import CHUNK_ROWS

PACE_SECONDS = 0.005
"""Pause between interactive calls."""


def measure(pair: Pair, seconds: float, rounds: int = 4) -> Iterator[Figure]:
    """Measure idle and busy phases of both services in turn."""
    idle: dict[str, list[float]] = {name: [] for name in pair.named()}
    busy: dict[str, list[float]] = {name: [] for name in pair.named()}
    for _ in range(rounds):
        for name, service in pair.named().items():
            with demur.connect(service.grpc) as client:
                idle[name] += _paced(client, service, seconds / rounds / 4)
                with child(["-m", "benchmarks.mixed", service.grpc, service.task]) as bulk_stream:
                    assert bulk_stream.stdout is not None
                    bulk_stream.stdout.readline()  # its first answer
                    busy[name] += _paced(client, service, seconds / rounds / 4)
    part = "Interactive rows beside a bulk stream"
    p99 = {
        phase: {name: float(np.quantile(values, 0.99)) * 1e3 for name, values in times.items()}
        for phase, times in (("idle", idle), ("beside the stream", busy))
    }
    for phase, times in (("idle", idle), ("beside the stream", busy)):
        note = f"p50 {np.median(times['']) * 1e3:.3f} ms, {len(times[''])} calls"
        yield Figure(part, f"p99 {phase}", p99[phase][""], "ms", note=note, bare=p99[phase][WITHOUT_LEDGER])
    ratio = {name: p99["beside the stream"][name] / p99["idle"][name] for name in pair.named()}
    yield Figure(part, "p99 over idle", ratio[""], "x", at_most=2.0, bare=ratio[WITHOUT_LEDGER])


def _paced(client: demur.Client, service: Service, seconds: float) -> list[float]:
    row = rows(artefact(service.task), 1)
    times = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        getattr(client, service.task).predict(row)
        times.append(time.perf_counter() - start)
        time.sleep(PACE_SECONDS)
    return times


if __name__ == "__main__":
    target, task = sys.argv[1:]
    batch = rows(artefact(task), CHUNK_ROWS)
    with demur.connect(target) as bulk:
        for number, _ in enumerate(getattr(bulk, task).stream(itertools.repeat(batch))):
            if number == 4:
                sys.stdout.write("streaming\n")
                sys.stdout.flush()
