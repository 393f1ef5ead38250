"""Cost of a ledger: the same requests to services with and without a ledger, turn by turn.

``python -m benchmarks.ledger [--seconds S] [--only PART …]``; the command starts a PostgreSQL server of its own.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import grpc
import numpy as np

import demur
from benchmarks import harness, wire
from benchmarks.harness import Figure, Timed, interleaved
from benchmarks.inputs import artefact, rows, threshold
from benchmarks.service import Service, pinned, running
from tests.postgres import running_postgres

CHUNK_ROWS = 1024
CHUNKS = 40


PARTS = ("ingest", "answered", "deferred", "explore", "decide")


def measure(seconds: float, postgres: str, parts: Sequence[str]) -> Iterator[Figure]:
    """Measure one answered row, one deferred row, and streams of explored and decided rows, for each ledger."""
    cores = sorted(os.sched_getaffinity(0))
    ledgers = {"no ledger": "none", "SQLite": "sqlite", "PostgreSQL": postgres}
    rows_of = {"answered": {"audit_rate": "0.0001", "fixed_threshold": "1e12"}, "deferred": {"fixed_threshold": "0"}}
    five_in_a_hundred = {"fixed_threshold": repr(threshold(0.95))}
    for part in parts:
        chosen = rows_of.get(part, five_in_a_hundred)
        with ExitStack() as stack:
            services = {
                name: stack.enter_context(running({cores[0]}, ledger=url, **chosen)) for name, url in ledgers.items()
            }
            stack.enter_context(pinned({cores[-1]}))
            if part in rows_of:
                yield from _rows(f"One {part} row", services, seconds)
            elif part in ("explore", "decide"):
                yield from _stream(part, services, seconds)


def _rows(part: str, services: dict[str, Service], seconds: float) -> Iterator[Figure]:
    source = artefact()
    packed = wire.protobuf_body("vessel", source.schema, rows(source, 1))
    with ExitStack() as stack:
        stubs = {
            name: wire.stub(stack.enter_context(grpc.insecure_channel(service.grpc)), service.task)
            for name, service in services.items()
        }
        cases = {name: _call(stub, packed) for name, stub in stubs.items()}
        timed = interleaved(cases, seconds, warm_up=200)
    yield from _compared(part, timed, at_most=0.3 if "answered" in part else None)


def _call(stub: Callable[[bytes], object], packed: bytes) -> Callable[[], object]:
    return lambda: stub(packed)


def _compared(part: str, timed: dict[str, Timed], at_most: float | None) -> Iterator[Figure]:
    bare = timed["no ledger"]
    for name, case in timed.items():
        note = f"p99 {case.p99 * 1e3:.3f} ms, n {len(case.seconds)}"
        yield Figure(part, name, case.p50 * 1e3, "ms p50", note=note)
        if case is not bare:
            yield Figure(part, f"{name}: added", (case.p50 - bare.p50) * 1e3, "ms p50", at_most=at_most)


def _stream(purpose: str, services: dict[str, Service], seconds: float) -> Iterator[Figure]:
    """Measure streams in which five rows in a hundred are deferred and one in a hundred is audited."""
    source = artefact()
    batches = rows(source, 16 * CHUNK_ROWS).reshape(16, CHUNK_ROWS, -1)
    with ExitStack() as stack:
        clients = {name: stack.enter_context(demur.connect(service.grpc)) for name, service in services.items()}
        cases = {name: _streaming(client, batches, purpose) for name, client in clients.items()}
        timed = interleaved(cases, seconds, warm_up=2)
    bare = timed["no ledger"]
    for name, case in timed.items():
        part = f"Stream, {purpose}"
        rate = CHUNKS * CHUNK_ROWS / case.p50
        yield Figure(part, name, rate, "rows/s", note=f"n {len(case.seconds)}, ±{case.spread():.0%}")
        if case is not bare:
            cost = (float(np.median(case.seconds / bare.seconds)) - 1) * 100
            yield Figure(part, f"{name}: cost", cost, "%", at_most=5)


def _streaming(client: demur.Client, batches: np.ndarray, purpose: str) -> Callable[[], object]:
    def run() -> None:
        source = (batches[index % len(batches)] for index in range(CHUNKS))
        for answer in client.vessel.stream(source, purpose=purpose):
            assert len(answer) == CHUNK_ROWS

    return run


def ingest(url: str, units: int) -> Figure:
    """Measure units written by the ledger alone, without a service."""
    from tests.services.ledger.recording import recording

    async def run(directory: Path) -> float:
        generator = np.random.default_rng(1)
        scores = generator.exponential(1 / 3, (16, CHUNK_ROWS)).astype(np.float32)
        async with recording(url, directory) as recorder:
            await recorder.decide([2.0])
            start = time.process_time()
            for index in range(units // CHUNK_ROWS):
                await recorder.decide(scores[index % 16], rate=0.01)
            return time.process_time() - start

    with tempfile.TemporaryDirectory() as directory:
        url = url or f"sqlite:///{directory}/ledger.db"
        seconds = asyncio.run(run(Path(directory)))
    kind = url.partition(":")[0]
    return Figure("Ingest", f"{kind}, 5 % deferred, 1 % audits", seconds / units * 1e9, "ns CPU/unit")


def main() -> int:
    options = harness.parser("ledger", __doc__, seconds=20, parts=PARTS).parse_args()
    harness.announce()
    with running_postgres() as server:
        urls = ("", server.database()) if "ingest" in options.only else ()
        figures = [ingest(url, 500_000) for url in urls]
        figures += measure(options.seconds, server.database(), [part for part in options.only if part != "ingest"])
    return harness.report(figures)


if __name__ == "__main__":
    sys.exit(main())
