"""Race of Demur beside other servers: the same graph, the same caller, one run.

``python -m benchmarks.race [--rounds N] [--seconds S] [--only NAME …] [--json PATH] [--page PATH]``; with
``--from PATH`` the table is made from an earlier run's JSON. Server on the first core, load generator on the last.
Environments of the others are made at the first run: several minutes, and two gigabytes.
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from benchmarks import harness, machine, markdown
from benchmarks.inputs import artefact, direct, rows
from benchmarks.processes import PROJECT
from benchmarks.race import bodies
from benchmarks.race.contenders import Contender, all_contenders
from benchmarks.race.environments import LeftOut
from benchmarks.race.measures import Measured, measured
from benchmarks.race.table import Entry, Results, page
from benchmarks.service import pinned

SETTLE_SECONDS = 3.0
"""Pause after a start, so that what a server does in the background at first is not measured."""
PAGE = PROJECT / "benchmarks" / "race.md"


def main(arguments: list[str] | None = None) -> int:
    """Race, or read an earlier race; print the tables, and write what is asked for. Return 0."""
    options = parser().parse_args(arguments)
    if options.earlier:
        results = Results.read(json.loads(options.earlier.read_text()))
    else:
        names = options.only
        contenders = [each for each in all_contenders() if each.name in names]
        results = race(contenders, options.rounds, options.seconds, say)
    markdown.publish(page(results), asdict(results), options.json, options.page)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's arguments."""
    options = harness.parser("race", __doc__, seconds=2.0, parts=[contender.name for contender in all_contenders()])
    options.add_argument("--rounds", type=whole, default=3, help="each contender is started and measured once a round")
    options.add_argument("--json", type=Path, metavar="PATH", help="write all measures to this file")
    options.add_argument("--from", dest="earlier", type=Path, metavar="PATH", help="read a run instead of racing")
    options.add_argument("--page", type=Path, nargs="?", const=PAGE, help=f"write the tables into a page, {PAGE.name}")
    return options


def race(
    contenders: Iterable[Contender],
    rounds: int,
    seconds: float,
    say: Callable[[str], None],
    settle_seconds: float = SETTLE_SECONDS,
) -> Results:
    """Measure all contenders in each of the rounds, in an order drawn anew, as is that of the ways into each.

    The graph alone is measured in each round, too.

    A contender that cannot be started, or does not answer, is left out of later rounds; its reason is kept.
    """
    contenders, left_out = list(contenders), dict[str, str]()
    cores = sorted(os.sched_getaffinity(0))
    found: dict[tuple[str, str], list[Measured]] = {}
    alone: list[dict[str, float]] = []
    described = machine.line()
    with pinned({cores[-1]}):
        for number in range(rounds):
            draw = random.Random(number)
            alone.append(in_process(seconds))
            for contender in draw.sample(contenders, len(contenders)):
                if contender.name in left_out:
                    continue
                say(f"round {number + 1} of {rounds}: {contender.name}")
                try:
                    with contender.start({cores[0]}) as service:
                        time.sleep(settle_seconds)
                        for lane in draw.sample(contender.lanes, len(contender.lanes)):
                            figures = measured(service, lane, {cores[-1]}, seconds)
                            found.setdefault((contender.name, lane.name), []).append(figures)
                except (LeftOut, RuntimeError) as error:
                    left_out[contender.name] = str(error)
                    say(f"  left out: {error}")
    entries = tuple(
        Entry(contender.name, contender.group, lane.name, tuple(map(asdict, found[contender.name, lane.name])))
        for contender in contenders
        for lane in contender.lanes
        if (contender.name, lane.name) in found
    )
    medians = {count: statistics.median(each[count] for each in alone) for count in alone[0]}
    return Results(described, rounds, seconds, medians, left_out, entries)


def in_process(seconds: float) -> dict[str, float]:
    """Return the median time of the graph alone for each number of rows, ms, measured for about that long."""
    source = artefact(bodies.TASK)
    model = direct(source)
    cases = {str(count): rows(source, count) for count in bodies.COUNTS}
    timed = harness.interleaved({name: lambda batch=batch: model(batch) for name, batch in cases.items()}, seconds)  # type: ignore[misc]
    return {name: case.p50 * 1e3 for name, case in timed.items()}


def whole(text: str) -> int:
    """Return the number of rounds that an argument states."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"rounds = {text}: must be a whole number of at least 1")
    return int(text)


def say(line: str) -> None:
    """Write a line of progress, with the time, to standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
