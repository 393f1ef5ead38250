"""Measuring harness: figures with targets, cases timed turn by turn, and the command that measures and shows them.

Cases run in turn in one process, so that a busy machine burdens all of them alike.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine


@dataclass(frozen=True)
class Figure:
    """One measured number."""

    part: str
    name: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""
    bare: float | None = None
    """Value of the same figure for a service without a ledger; None if there is none. Targets are for ``value``."""

    @property
    def met(self) -> bool | None:
        """True if the target is met; None without one."""
        if self.at_most is not None:
            return self.value <= self.at_most
        if self.at_least is not None:
            return self.value >= self.at_least
        return None

    @property
    def target(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return f"≥ {self.at_least:g}" if self.at_least is not None else ""


def plain(figures: Iterable[Figure]) -> list[dict[str, Any]]:
    """Return figures as JSON values."""
    return [asdict(figure) | {"met": figure.met} for figure in figures]


def table(figures: Iterable[Figure]) -> str:
    """Format figures as a table with one line each, parts under their headings.

    The second number of a line is that of a service without a ledger.
    """
    lines: list[str] = []
    part = ""
    for figure in figures:
        if figure.part != part:
            part = figure.part
            lines += ["", part]
        verdict = {True: "met", False: "MISSED", None: ""}[figure.met]
        lines.append(
            f"  {figure.name:<46} {_number(figure.value):>10} {_number(figure.bare):>10} {figure.unit:<10} "
            f"{figure.target:<8} {verdict:<7}"
            f"{figure.note}".rstrip()
        )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


@dataclass(frozen=True)
class Timed:
    """Durations of one repeated call."""

    seconds: NDArray[np.float64]
    """Duration of each call by the chosen clock, [n]."""
    cpu_seconds: float
    """CPU time of this process over all calls."""

    @property
    def p50(self) -> float:
        return float(np.median(self.seconds))

    @property
    def p99(self) -> float:
        return float(np.quantile(self.seconds, 0.99))

    @property
    def cpu_share(self) -> float:
        """Share of the wall clock during which this process (the load generator) computed."""
        return self.cpu_seconds / float(self.seconds.sum())

    @property
    def note(self) -> str:
        """Tail, spread and the load generator's share of the processor as text."""
        return f"p99 {self.p99 * 1e3:.3f} ms, ±{self.spread():.0%}, generator's CPU {self.cpu_share:.0%}"

    def spread(self, parts: int = 8) -> float:
        """Return half the range of the medians of consecutive parts, relative to the median of all."""
        medians = [np.median(part) for part in np.array_split(self.seconds, parts) if len(part)]
        return float((max(medians) - min(medians)) / 2 / self.p50)


def interleaved(
    cases: Mapping[str, Callable[[], object]],
    seconds: float,
    warm_up: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timed]:
    """Run all cases in turn, in an order drawn anew each round, for about ``seconds`` seconds.

    Args:
        clock: clock of the durations; ``time.thread_time`` if everything is computed on the calling thread, since on a
            busy machine long calls are interrupted more than short ones.
    """
    for case in cases.values():
        for _ in range(warm_up):
            case()
    durations: dict[str, list[float]] = {name: [] for name in cases}
    computed = dict.fromkeys(cases, 0.0)
    order = list(cases.items())
    draw = random.Random(1)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(durations[order[0][0]]) < 5:
        draw.shuffle(order)
        for name, case in order:
            cpu = time.process_time()
            start = clock()
            case()
            durations[name].append(clock() - start)
            computed[name] += time.process_time() - cpu
    return {name: Timed(np.array(values), computed[name]) for name, values in durations.items()}


def parser(
    benchmark: str, description: str | None, *, seconds: float | None = None, parts: Collection[str] = ()
) -> argparse.ArgumentParser:
    """Return the parser of a benchmark's command.

    Args:
        benchmark: module below ``benchmarks``.
        seconds: default of ``--seconds``; None for no such option.
        parts: choices of ``--only``, all by default; empty for no such option.
    """
    options = argparse.ArgumentParser(
        prog=f"python -m benchmarks{f'.{benchmark}' * bool(benchmark)}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if seconds is not None:
        options.add_argument("--seconds", type=float, default=seconds, help="of each comparison")
    if parts:
        options.add_argument(
            "--only", nargs="+", choices=parts, default=list(parts), metavar="PART", help=", ".join(parts)
        )
    return options


def announce() -> None:
    """Print the machine that is measured."""
    sys.stdout.write(f"{machine.line()}\n")
    sys.stdout.flush()


def report(figures: Iterable[Figure], *, load: bool = True) -> int:
    """Measure, and print figures as a table, with the machine's load at the end; return 0, the exit code."""
    sys.stdout.write(f"{table(figures)}\n")
    if load:
        sys.stdout.write(f"load {os.getloadavg()[0]:.1f}\n")
    sys.stdout.flush()
    return 0
