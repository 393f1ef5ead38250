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

from benchmarks import machine, markdown
from benchmarks.processes import PROJECT
from benchmarks.race.bodies import Lane
from benchmarks.race.measures import Measured, measured
from benchmarks.race.rounds import SETTLE_SECONDS, in_rounds, parser, say
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
    options = parser("transports", __doc__, names, PAGE).parse_args(arguments)
    if options.earlier:
        results = Results.read(json.loads(options.earlier.read_text()))
    else:
        transports = [transport for transport in all_transports() if transport.name in options.only]
        results = race(transports, options.rounds, options.seconds, say)
    markdown.publish(page(results), asdict(results), options.json, options.page)
    return 0


def race(transports: Sequence[Transport], rounds: int, seconds: float, say: Callable[[str], None]) -> Results:
    """Measure all transports in each round, in an order drawn anew, and check the contract of each once.

    One that cannot be started, or does not answer, is left out of the measures; its reason is kept.
    """
    cores = sorted(os.sched_getaffinity(0))
    described = machine.line()
    figures: dict[str, list[Measured]] = {}

    def measure(transport: Transport, draw: random.Random) -> None:
        with transport.serve({cores[0]}) as service:
            time.sleep(SETTLE_SECONDS)
            taken = measured(service, LANE, {cores[-1]}, seconds)
        figures.setdefault(transport.name, []).append(taken)

    with pinned({cores[-1]}):
        left_out = in_rounds(transports, rounds, measure, say)
    contracts = {}
    for transport in transports:
        say(f"contract: {transport.name}")
        contracts[transport.name] = contract(transport.start)
    entries = tuple(
        Entry(transport.name, "floor", LANE.name, tuple(map(asdict, figures[transport.name])))
        for transport in transports
        if transport.name in figures
    )
    return Results(described, rounds, seconds, entries, contracts, left_out)


if __name__ == "__main__":
    sys.exit(main())
