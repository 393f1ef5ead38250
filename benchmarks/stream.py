"""Throughput of a million rows through one gRPC stream against the model called in process, and memory."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import psutil
from numpy.typing import NDArray

import demur
from benchmarks.harness import Figure
from benchmarks.inputs import Call, artefact, direct, rows
from benchmarks.service import Service, watching

CHUNK_ROWS = 4096
"""Rows of one batch, of the stream and of one call of the model in process."""
_MARKS = (0.1, 0.5, 1.0)


@dataclass
class Run:
    """One stream from its first batch to its last answer."""

    seconds: float = 0.0
    server: list[int] = field(default_factory=list)
    """Resident bytes at the marks."""
    client: list[int] = field(default_factory=list)


def measure(service: Service, title: str, total: int, rounds: int, at_least: float | None = 0.85) -> Iterator[Figure]:
    """Measure short streams in turn with the model in process for the ratio, then the long stream for memory."""
    part = f"Stream of {total:,} rows, {title}"
    source = artefact(service.task)
    batches = rows(source, 16 * CHUNK_ROWS).reshape(16, CHUNK_ROWS, -1)
    model = direct(source)
    short = max(total // 10 // CHUNK_ROWS, 4)
    with demur.connect(service.grpc) as client:
        _streamed(client, service, batches, 4)
        _in_process(model, batches, 4)
        ratios = []
        for _ in range(rounds):
            before = _in_process(model, batches, short)
            streamed = _streamed(client, service, batches, short).seconds
            ratios.append((before + _in_process(model, batches, short)) / 2 / streamed)
        with watching(service, 0.1, sample=lambda server: {"bytes": server.resident_bytes()}) as watched:
            cpu, own, start = service.cpu_seconds(), time.process_time(), time.perf_counter()
            run = _streamed(client, service, batches, -(-total // CHUNK_ROWS))
            share = (time.process_time() - own) / (time.perf_counter() - start)
            cpu = service.cpu_seconds() - cpu
    rate = total / run.seconds
    note = f"server CPU {cpu / total * 1e6:.2f} µs/row, generator's CPU {share:.0%}"
    yield Figure(part, "rows a second", rate, "rows/s", note=note)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f} in {rounds} turns"
    yield Figure(part, "over in process", float(np.median(ratios)), "x", at_least=at_least, note=spread)
    for who, sizes in (("server", run.server), ("client", run.client)):
        marks = ", ".join(f"{mark:.0%} {size / 2**20:.0f}" for mark, size in zip(_MARKS, sizes, strict=True))
        growth = (sizes[-1] - sizes[0]) / 2**20
        yield Figure(part, f"{who} memory, from 10 % to the end", growth, "MiB", at_most=16, note=f"MiB at {marks}")
    yield Figure(part, "server memory, peak", watched.most("bytes") / 2**20, "MiB")


def _streamed(client: demur.Client, service: Service, batches: NDArray[np.float32], count: int) -> Run:
    run = Run()
    marks = [max(1, round(mark * count)) for mark in _MARKS]
    own = psutil.Process()
    start = time.perf_counter()
    source = (batches[index % len(batches)] for index in range(count))
    for done, answer in enumerate(getattr(client, service.task).stream(source), 1):
        assert len(answer) == CHUNK_ROWS
        while marks and done >= marks[0]:
            marks.pop(0)
            run.server.append(service.resident_bytes())
            run.client.append(own.memory_info().rss)
    run.seconds = time.perf_counter() - start
    return run


def _in_process(model: Call, batches: NDArray[np.float32], count: int) -> float:
    start = time.perf_counter()
    for index in range(count):
        model(batches[index % len(batches)])
    return time.perf_counter() - start
