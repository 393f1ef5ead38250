"""Throughput of a million rows through one gRPC stream against the model called in process, and memory."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import psutil
from numpy.typing import NDArray

import demur
from benchmarks.harness import Figure
from benchmarks.inputs import Call, artefact, direct, rows
from benchmarks.service import Pair, Service, watching

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


def measure(pair: Pair, title: str, total: int, rounds: int, at_least: float | None = 0.9) -> Iterator[Figure]:
    """Measure short streams in turn with the model in process for the ratios, then the long stream for memory.

    Streams explore, as they do by default; the ratio of deciding compares a stream of decided rows with the ledger to
    the same rows explored without one.
    """
    service = pair.default
    part = f"Stream of {total:,} rows, {title}"
    source = artefact(service.task)
    batches = rows(source, 16 * CHUNK_ROWS).reshape(16, CHUNK_ROWS, -1)
    model = direct(source)
    short = max(total // 10 // CHUNK_ROWS, 4)
    with demur.connect(service.grpc) as client, demur.connect(pair.bare.grpc) as bare_client:
        _streamed(client, service, batches, 4)
        _streamed(client, service, batches, 4, "decide")
        _streamed(bare_client, pair.bare, batches, 4)
        _in_process(model, batches, 4)
        ratios, bare_ratios, decided = [], [], []
        for _ in range(rounds):
            before = _in_process(model, batches, short)
            streamed = _streamed(client, service, batches, short).seconds
            model_seconds = (before + _in_process(model, batches, short)) / 2
            explored = _streamed(bare_client, pair.bare, batches, short).seconds
            decided.append(explored / _streamed(client, service, batches, short, "decide").seconds)
            ratios.append(model_seconds / streamed)
            bare_ratios.append(model_seconds / explored)
        with watching(service, 0.1, sample=lambda server: {"bytes": server.resident_bytes()}) as watched:
            cpu, own, start = service.cpu_seconds(), time.process_time(), time.perf_counter()
            run = _streamed(client, service, batches, -(-total // CHUNK_ROWS))
            share = (time.process_time() - own) / (time.perf_counter() - start)
            cpu = service.cpu_seconds() - cpu
    rate = total / run.seconds
    note = f"server CPU {cpu / total * 1e6:.2f} µs/row, generator's CPU {share:.0%}"
    yield Figure(part, "rows a second", rate, "rows/s", note=note)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f} in {rounds} turns"
    over, bare_over = float(np.median(ratios)), float(np.median(bare_ratios))
    yield Figure(part, "over in process", over, "x", at_least=at_least, note=spread, bare=bare_over)
    spread = f"{min(decided):.2f} to {max(decided):.2f} in {rounds} turns"
    name = "decide with a ledger over explore without"
    yield Figure(part, name, float(np.median(decided)), "x", at_least=0.92, note=spread)
    for who, sizes in (("server", run.server), ("client", run.client)):
        marks = ", ".join(f"{mark:.0%} {size / 2**20:.0f}" for mark, size in zip(_MARKS, sizes, strict=True))
        growth = (sizes[-1] - sizes[0]) / 2**20
        yield Figure(part, f"{who} memory, from 10 % to the end", growth, "MiB", at_most=16, note=f"MiB at {marks}")
    yield Figure(part, "server memory, peak", watched.most("bytes") / 2**20, "MiB")


def _streamed(
    client: demur.Client,
    service: Service,
    batches: NDArray[np.float32],
    count: int,
    purpose: Literal["decide", "explore"] = "explore",
) -> Run:
    run = Run()
    marks = [max(1, round(mark * count)) for mark in _MARKS]
    own = psutil.Process()
    start = time.perf_counter()
    source = (batches[index % len(batches)] for index in range(count))
    for done, answer in enumerate(getattr(client, service.task).stream(source, purpose=purpose), 1):
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
