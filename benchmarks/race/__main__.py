"""Race of Demur beside other servers: the same graph, the same caller, one run.

``python -m benchmarks.race [--model rows] [--rounds N] [--seconds S] [--only NAME …] [--json PATH] [--page PATH]``;
with ``--from PATH`` the table is made from an earlier JSON. Server on the first core, load generator on the last.
Environments of the others are made at the first run: several minutes, and two gigabytes.
"""

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import harness, machine, markdown
from benchmarks.processes import PROJECT
from benchmarks.race import bodies
from benchmarks.race.contenders import Contender, all_contenders
from benchmarks.race.courses import Course, row_model, vessel
from benchmarks.race.measures import Measured, measured
from benchmarks.race.rounds import SETTLE_SECONDS, in_rounds, parser, say
from benchmarks.race.table import Entry, Results, page
from benchmarks.service import pinned
from models.executors.onnx import OnnxGraph

PAGE = PROJECT / "benchmarks" / "race.md"


def main(arguments: list[str] | None = None) -> int:
    """Race, or read an earlier race; print the tables, and write what is asked for. Return 0."""
    names = [contender.name for contender in all_contenders()]
    read = parser("race", __doc__, names, PAGE)
    read.add_argument("--model", choices=("vessel", "rows"), default="vessel", help="what is served  [default: vessel]")
    options = read.parse_args(arguments)
    if options.earlier:
        results = Results.read(json.loads(options.earlier.read_text()))
    else:
        with TemporaryDirectory(prefix="demur-race-") as folder:
            course = vessel() if options.model == "vessel" else row_model(Path(folder))
            contenders = [contender for contender in all_contenders(course) if contender.name in options.only]
            results = race(contenders, options.rounds, options.seconds, say, course=course)
    markdown.publish(page(results), asdict(results), options.json, options.page)
    return 0


def race(
    contenders: Iterable[Contender],
    rounds: int,
    seconds: float,
    say: Callable[[str], None],
    settle_seconds: float = SETTLE_SECONDS,
    course: Course | None = None,
) -> Results:
    """Measure all contenders in each of the rounds, in an order drawn anew, as is that of the ways into each.

    The graph alone is measured in each round, too.

    A contender that cannot be started, or does not answer, is left out of later rounds; its reason is kept.
    """
    contenders = list(contenders)
    cores = sorted(os.sched_getaffinity(0))
    figures: dict[tuple[str, str], list[Measured]] = {}
    alone: list[dict[str, float]] = []
    described = machine.line()

    def measure(contender: Contender, draw: random.Random) -> None:
        with contender.start({cores[0]}) as service:
            time.sleep(settle_seconds)
            for lane in draw.sample(contender.lanes, len(contender.lanes)):
                taken = measured(service, lane, {cores[-1]}, seconds, course)
                figures.setdefault((contender.name, lane.name), []).append(taken)

    with pinned({cores[-1]}):
        left_out = in_rounds(contenders, rounds, measure, say, lambda: alone.append(in_process(seconds, course)))
    entries = tuple(
        Entry(contender.name, contender.group, lane.name, tuple(map(asdict, figures[contender.name, lane.name])))
        for contender in contenders
        for lane in contender.lanes
        if (contender.name, lane.name) in figures
    )
    medians = {count: statistics.median(each[count] for each in alone) for count in alone[0]}
    return Results(described, rounds, seconds, medians, left_out, entries)


def in_process(seconds: float, course: Course | None = None) -> dict[str, float]:
    """Return the median time of the graph alone for each number of rows, ms, measured for about that long."""
    course = vessel() if course is None else course
    graph = OnnxGraph(course.graph)
    cases = {str(count): course.rows(count) for count in bodies.COUNTS}
    timed = harness.interleaved(
        {name: lambda batch=batch: graph.run({"rows": batch}, course.outputs) for name, batch in cases.items()},  # type: ignore[misc]
        seconds,
    )
    return {name: case.p50 * 1e3 for name, case in timed.items()}


if __name__ == "__main__":
    sys.exit(main())
