"""Race of gRPC servers that take and give bytes, and the contract that each keeps: ``make transports``.

``python -m benchmarks.transports [--rounds N] [--seconds S] [--only NAME …] [--json PATH] [--page [PATH]]``; with
``--from PATH`` the tables are made from an earlier run's JSON. Server on the first core, load generator on the last;
the contract is checked afterwards, on all cores. Environments are made at the first run, from pinned requirements.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import harness, machine, markdown
from benchmarks.processes import PROJECT
from benchmarks.race.__main__ import SETTLE_SECONDS, say, whole
from benchmarks.race.bodies import Lane
from benchmarks.race.environments import LeftOut
from benchmarks.race.measures import Measured, measured
from benchmarks.race.table import Entry
from benchmarks.service import pinned
from benchmarks.transports.contenders import Transport, all_transports
from benchmarks.transports.contract import contract
from benchmarks.transports.servers import echo
from benchmarks.transports.table import Results, page

PAGE = PROJECT / "benchmarks" / "transports.md"
LANE = Lane("gRPC", "grpc", f"/{echo.SERVICE}/Echo", "protobuf")


def main(arguments: list[str] | None = None) -> int:
    """Race, or read an earlier race; print the tables, and write what is asked for. Return 0."""
    names = [transport.name for transport in all_transports()]
    parser = harness.parser("transports", __doc__, seconds=2.0, parts=names)
    parser.add_argument("--rounds", type=whole, default=3, help="each server is started and measured once a round")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all measures and outcomes to this file")
    parser.add_argument("--from", dest="earlier", type=Path, metavar="PATH", help="read a run instead of racing")
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE, help=f"write the tables into a page, {PAGE.name}")
    options = parser.parse_args(arguments)
    if options.earlier:
        results = Results.read(json.loads(options.earlier.read_text()))
    else:
        transports = [transport for transport in all_transports() if transport.name in options.only]
        results = race(transports, options.rounds, options.seconds, say)
    markdown.publish(page(results), asdict(results), options.json, options.page)
    return 0


def race(transports: Sequence[Transport], rounds: int, seconds: float, tell: Callable[[str], None]) -> Results:
    """Measure all transports in each round, in an order drawn anew, and check the contract of each once.

    One that cannot be started, or does not answer, is left out of the measures; its reason is kept.
    """
    cores = sorted(os.sched_getaffinity(0))
    described, left_out = machine.line(), dict[str, str]()
    figures_by_name: dict[str, list[Measured]] = {}
    with pinned({cores[-1]}):
        for number in range(rounds):
            for transport in random.Random(number).sample(transports, len(transports)):
                if transport.name in left_out:
                    continue
                tell(f"round {number + 1} of {rounds}: {transport.name}")
                try:
                    with transport.serve({cores[0]}) as service:
                        time.sleep(SETTLE_SECONDS)
                        figures = measured(service, LANE, {cores[-1]}, seconds)
                    figures_by_name.setdefault(transport.name, []).append(figures)
                except (LeftOut, RuntimeError) as error:
                    left_out[transport.name] = str(error)
                    tell(f"  left out: {error}")
    contracts = {}
    for transport in transports:
        tell(f"contract: {transport.name}")
        contracts[transport.name] = contract(transport.start)
    entries = tuple(
        Entry(transport.name, "floor", LANE.name, tuple(map(asdict, figures_by_name[transport.name])))
        for transport in transports
        if transport.name in figures_by_name
    )
    return Results(described, rounds, seconds, entries, contracts, left_out)


if __name__ == "__main__":
    sys.exit(main())
