"""Coverage of the intervals of reviewers' statistics, on simulated reviewers; writes docs/quality/reviewers.md.

    python -m studies.reviewers

Reviewers with known errors label units: classes, numbers, masks and positions. Each case draws labels many times and
counts how often the interval holds the truth. Takes a quarter of an hour on one core.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from benchmarks import machine
from models.agreement.bounds import LEVEL
from studies import pages, statements
from studies.reviewer_worlds import RATES, SHARES_ANSWERED, cases

RUNS = 1000
SEED = 20
LOWEST, HIGHEST = 0.93, 0.97
"""Limits of the coverage of intervals at 95 %; that of 1000 draws scatters by 0.7 %."""


@dataclass(frozen=True)
class Result:
    """Coverage of one case."""

    figure: str
    world: str
    pairs: int
    known: float
    kind: str
    coverage: float
    above: float
    """Share of runs in which the interval lies above the truth."""
    width: float
    """Median width of the interval, as a share of the truth."""
    bias: float
    """Mean estimate less the truth, as a share of the truth."""


def run(case: Any, runs: int, seed: int) -> Result:
    """Draw the labels of a case many times, and count the intervals that hold the truth."""
    name = [ord(sign) for sign in f"{case.figure} {case.world} {case.pairs} {case.known}"]
    rng = np.random.default_rng([seed, *name])
    bounds = [case.draw(rng) for _ in range(runs)]
    mean, lower, upper = (np.array([getattr(one, end) for one in bounds]) for end in ("mean", "lower", "upper"))
    return Result(
        *(case.figure, case.world, case.pairs, case.known, case.kind),
        coverage=float(np.mean((lower <= case.truth) & (case.truth <= upper))),
        above=float(np.mean(lower > case.truth)),
        width=float(np.median(upper - lower)) / case.truth,
        bias=float(np.nanmean(mean)) / case.truth - 1,
    )


def main() -> None:
    parser = pages.parser("reviewers", __doc__, out=pages.QUALITY)
    parser.add_argument("--runs", type=int, default=RUNS, help="draws of each case")
    options = parser.parse_args()
    started, results = time.monotonic(), []
    every = list(cases())
    for number, case in enumerate(every, start=1):
        results.append(run(case, options.runs, SEED))
        result = results[-1]
        line = f"{result.figure}, {result.world}, {result.pairs} pairs, {result.known:g} known: {result.coverage:.3f}"
        sys.stderr.write(f"{time.monotonic() - started:.0f} s, {number} of {len(every)}: {line}\n")
    draw(results, options.out / "reviewers.png")
    pages.write(options.out / "reviewers.md", document(results, options.runs))


def document(results: Sequence[Result], runs: int) -> str:
    """Return the page above the hand-written part."""
    return pages.document(
        "# Statistics of reviewers: do their intervals hold?",
        f"{pages.written_by('reviewers')[:-1]}: coverage of 95 % intervals of agreement, of the error of a reviewer's "
        "label and of the error of the whole system, for reviewers whose errors are known.",
        pages.bullets(
            f"Data: simulated labels of eight reviewers, {runs} draws of each case, seed {SEED}. Each pair of labels "
            "is by two different reviewers drawn at random, of a unit of its own. Reviewers are *alike*, or "
            f"*different*: with {', '.join(f'{rate:g}' for rate in RATES)} times the mean error.",
            "*Known* is the number of labels of known units, as a share of the number of pairs.",
            f"System: {SHARES_ANSWERED:.0%} answered, their error measured on 400 labels of the same reviewers.",
            "Width: median, as a share of the true figure. *Off* is the bias, as a share of the true figure.",
            f"Recorded on {machine.line()}.",
        ),
        "## Statements",
        statements.table(checks(results)),
        pages.picture("Coverage and width of the intervals by number of pairs", "reviewers.png"),
        *(
            block
            for figure in _unique(result.figure for result in results)
            for block in (f"## {figure[0].upper()}{figure[1:]}", _table([r for r in results if r.figure == figure]))
        ),
    )


def checks(results: Sequence[Result]) -> list[statements.Statement]:
    """Return the statements on coverage, one for each figure, and on width."""
    made = []
    for figure in _unique(result.figure for result in results):
        own = [result for result in results if result.figure == figure]
        exact, ranges = ([r for r in own if r.kind == kind] for kind in ("exact", "range"))
        if exact:
            text = f"{figure}: intervals hold the truth in {LOWEST:.0%} to {HIGHEST:.0%} of the draws"
            made.append(_stated(text, exact, lambda value: LOWEST <= value <= HIGHEST))
        if ranges:
            text = f"{figure}: ranges hold the truth in at least {LOWEST:.0%} of the draws"
            made.append(_stated(text, ranges, lambda value: value >= LOWEST))
    made.append(
        statements.stated(
            "known units narrow every interval of the error of a label",
            (
                statements.Comparison(
                    f"{_named(many)}: {many.width:.3f} against {none.width:.3f}", many.width < none.width
                )
                for many, none in _with_and_without(results)
            ),
            listed=statements.LISTED,
        )
    )
    return made


def _stated(text: str, results: Sequence[Result], holds: Callable[[float], bool]) -> statements.Statement:
    comparisons = (statements.Comparison(f"{_named(r)} {r.coverage:.1%}", holds(r.coverage)) for r in results)
    return statements.stated(text, comparisons, listed=0)


def _named(result: Result) -> str:
    known = f", {result.known:g} known" if result.known else ""
    return f"{result.world}, {result.pairs} pairs{known}"


def _with_and_without(results: Sequence[Result]) -> Iterable[tuple[Result, Result]]:
    """Yield each case with most known units, and the same without."""
    most = max(result.known for result in results)
    without = {(r.figure, r.world, r.pairs): r for r in results if not r.known}
    for result in results:
        if result.known == most and result.kind != "shown":
            yield result, without[result.figure, result.world, result.pairs]


def _table(results: Sequence[Result]) -> str:
    """Return the table of a figure: a row for each world and share of known units, columns by number of pairs."""
    sizes = _unique(result.pairs for result in results)
    rows = []
    for world, known in _unique((result.world, result.known) for result in results):
        own = {r.pairs: r for r in results if (r.world, r.known) == (world, known)}
        rows.append(
            (
                *(world, f"{known:g}"),
                *(_coverage(own[size]) if size in own else pages.NONE for size in sizes),
                *(f"{own[size].width:.2f}" if size in own else pages.NONE for size in sizes),
                f"{own[max(own)].bias:+.1%}",
            )
        )
    heads = (*(f"coverage, {size}" for size in sizes), *(f"width, {size}" for size in sizes))
    return pages.table(("reviewers", "known", *heads, f"off, {max(sizes)}"), rows)


def _coverage(result: Result) -> str:
    cell = f"{result.coverage:.1%}"
    fails = result.coverage < LOWEST or (result.kind == "exact" and result.coverage > HIGHEST)
    return f"**{cell}**" if fails and result.kind != "shown" else cell


def _unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def draw(results: Sequence[Result], path: Path) -> None:
    """Draw coverage and width by the number of pairs, without known units, as the mean over the worlds of a figure."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.axhspan(LOWEST, HIGHEST, color="#dddddd", linewidth=0)
    left.axhline(LEVEL, color="#999999", linewidth=0.8)
    names = _unique(result.figure for result in results if result.kind != "shown")
    for name, colour in zip(names, colormaps["tab20"].colors, strict=False):  # type: ignore[attr-defined]
        own = [r for r in results if r.figure == name and r.kind != "shown" and not r.known]
        sizes = _unique(result.pairs for result in own)
        line = "-" if own[0].kind == "exact" else "--"
        of_size = partial(_mean, own)
        left.plot(sizes, [of_size("coverage", size) for size in sizes], line, marker="o", color=colour, label=name)
        right.plot(sizes, [of_size("width", size) for size in sizes], line, marker="o", color=colour)
    left.set(xscale="log", xlabel="pairs", ylabel="coverage", title="Coverage; grey: 93 % to 97 %", ylim=(0.88, 1.005))
    right.set(xscale="log", yscale="log", xlabel="pairs", ylabel="width / truth", title="Width")
    for axis in (left, right):
        axis.set_xticks([50, 200, 1000], ["50", "200", "1000"])
        axis.grid(alpha=0.3)
    figure.legend(loc="outside right center", frameon=False, fontsize=8)
    pages.save(figure, path)


def _mean(results: Sequence[Result], name: str, pairs: int) -> float:
    return float(np.mean([getattr(result, name) for result in results if result.pairs == pairs]))


if __name__ == "__main__":
    main()
