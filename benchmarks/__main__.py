"""Benchmarks of the service, as users get it and without a ledger, against the model itself.

``python -m benchmarks [--quick] [--json PATH] [--only PART …]``
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import callers, ensembles, harness, latency, machine, mixed, oip, stages, stream
from benchmarks.harness import Figure, plain, table
from benchmarks.inputs import SERVED
from benchmarks.service import both, pinned

PARTS = ("ensembles", "stages", "latency", "oip", "callers", "mixed", "stream")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write the figures; return 0 even if a target is missed."""
    parser = harness.parser("", __doc__, parts=PARTS)
    parser.add_argument("--quick", action="store_true", help="below a minute, with wider spreads")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write all figures to this file")
    parser.add_argument("--task", choices=sorted(SERVED), default="vessel", help="whose service is measured")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    harness.announce()
    figures = list(measure(options.only, quick=options.quick, task=options.task))
    sys.stdout.write(f"{table(figures)}\n\n{time.perf_counter() - start:.0f} s, load {os.getloadavg()[0]:.1f}\n")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine.describe(), "figures": plain(figures)}, indent=1))
    return 0


def measure(parts: tuple[str, ...] | list[str], *, quick: bool, task: str = "vessel") -> Iterator[Figure]:
    """Yield all figures of some parts. The service runs on the first core, the load generator on the last."""
    cores = sorted(os.sched_getaffinity(0))
    service_cores, own_cores = {cores[0]}, {cores[-1]}
    scale = 0.2 if quick else 1.0
    total = 200_000 if quick else 1_000_000
    with pinned(own_cores):
        if "ensembles" in parts:
            yield from ensembles.measure(10 * scale)
        if "stages" in parts:
            yield from stages.measure(15 * scale)
        if {"latency", "oip", "callers", "mixed", "stream"} & set(parts):
            with both(service_cores, task) as pair:
                if "latency" in parts:
                    yield from latency.measure(pair, service_cores, 15 * scale)
                if "oip" in parts:
                    yield from oip.measure(pair, 15 * scale)
                if "callers" in parts:
                    yield from callers.measure(pair, service_cores, 30 * scale)
                if "mixed" in parts:
                    yield from mixed.measure(pair, 40 * scale)
                if "stream" in parts:
                    yield from stream.measure(pair, "one server core", total, 2 if quick else 5)
        if "stream" in parts and len(cores) > 1 and not quick:
            with both(set(cores), task) as pair:
                yield from stream.measure(pair, f"{len(cores)} server cores", total, 5)


if __name__ == "__main__":
    sys.exit(main())
