"""Services at rest: memory and processor time of everything that ``demur up`` starts, without a single request.

    python -m benchmarks.idle [--seconds 60] [--settle 10] [--projects DIRECTORY ...]

All services and the monitor start in a home directory and on ports of their own, each service with a ledger. When all
are ready and have settled, their processor time is taken over a minute, and their memory is read. Memory is PSS:
private pages, and a share of each page that several processes have, so that the figures of all processes add up.
``--projects`` starts these checkouts one after another, for a comparison.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks import harness, markdown
from benchmarks.processes import PROJECT, Memory, memory_of, pauses
from services.cli.processes import announced
from tests.ports import free_offset

START_SECONDS = 240.0
MOST_MIB, MOST_SHARE = 900.0, 0.01
"""Targets of all processes together: memory in MiB, and processor time as a share of one core."""
UP = "up"
_HEADINGS = ("at rest", "processes", "threads", "PSS, MiB", "private, MiB", "CPU, % of a core", "wakes/s")


@dataclass(frozen=True)
class Rest:
    """Figures of a service, or of several together."""

    processes: int
    threads: int
    memory: Memory
    share: float
    """Processor time as a share of one core."""
    wakes: float
    """Times that threads went to sleep by themselves, per second."""

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            str(self.processes),
            str(self.threads),
            f"{self.memory.pss:.0f}",
            f"{self.memory.private:.0f}",
            f"{self.share:.2%}".removesuffix("%"),
            f"{self.wakes:.0f}",
        )


def main(arguments: list[str] | None = None) -> int:
    """Measure each checkout and print a table for each."""
    parser = harness.parser("idle", __doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="over which processor time is taken")
    parser.add_argument("--settle", type=float, default=10.0, help="between readiness and the measurement")
    parser.add_argument("--projects", nargs="+", type=Path, default=[PROJECT], metavar="DIRECTORY")
    options = parser.parse_args(arguments)
    harness.announce()
    for project in options.projects:
        with started(project) as (process, home):
            time.sleep(options.settle)
            figures = measure(members(process, home), options.seconds)
        sys.stdout.write(f"\n{page(figures)}\nload {os.getloadavg()[0]:.1f}\n")
        sys.stdout.flush()
    return 0


@contextmanager
def started(project: Path, **settings: str) -> Iterator[tuple[psutil.Process, Path]]:
    """Run ``demur up`` of a checkout until the end of the block, which begins when all services are ready.

    Yields the process and its home directory.

    Args:
        settings: names as in ``services.runtime.settings``.

    Raises:
        RuntimeError: a service ended, or is not ready in time.
    """
    with tempfile.TemporaryDirectory(prefix="demur-idle-") as folder:
        home, log = Path(folder) / "home", Path(folder) / "up.log"
        own = {"home": str(home), "port_offset": str(free_offset())} | settings
        variables = {f"DEMUR_{name.upper()}": value for name, value in own.items()}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "services.cli", "up"],
                cwd=project,
                env=os.environ | variables,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            end = time.monotonic() + START_SECONDS
            while b"\nTry" not in log.read_bytes():
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the services did not become ready:\n{log.read_text()[-4000:]}")
                time.sleep(0.2)
            yield psutil.Process(process.pid), home
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(90)


def members(up: psutil.Process, home: Path) -> dict[str, list[psutil.Process]]:
    """Return the processes of each service and of the monitor, as they announced themselves, and the rest of ``up``."""
    services = {task: psutil.Process(running.pid) for task, running in announced(home).items()}
    families = {task: [process, *process.children(recursive=True)] for task, process in sorted(services.items())}
    of_services = {process.pid for family in families.values() for process in family}
    rest = [process for process in (up, *up.children(recursive=True)) if process.pid not in of_services]
    return families | {UP: rest}


def measure(families: Mapping[str, list[psutil.Process]], seconds: float) -> dict[str, Rest]:
    """Return the figures of each family: processor time and wakes over so many seconds, then memory."""
    begun = time.monotonic()
    before = {name: _computed(family) for name, family in families.items()}
    time.sleep(seconds)
    after = {name: _computed(family) for name, family in families.items()}
    took = time.monotonic() - begun
    return {
        name: Rest(
            processes=len(family),
            threads=sum(process.num_threads() for process in family),
            memory=sum((memory_of(process.pid) for process in family), Memory(0.0, 0.0)),
            share=(after[name][0] - before[name][0]) / took,
            wakes=(after[name][1] - before[name][1]) / took,
        )
        for name, family in families.items()
    }


def page(figures: Mapping[str, Rest]) -> str:
    """Return the table of all families and of their sum, and the targets."""
    total = Rest(
        processes=sum(rest.processes for rest in figures.values()),
        threads=sum(rest.threads for rest in figures.values()),
        memory=sum((rest.memory for rest in figures.values()), Memory(0.0, 0.0)),
        share=sum(rest.share for rest in figures.values()),
        wakes=sum(rest.wakes for rest in figures.values()),
    )
    rows = [(name, *rest.cells) for name, rest in (*figures.items(), ("all together", total))]
    verdicts = {True: "met", False: "MISSED"}
    return (
        f"{markdown.table(_HEADINGS, rows)}\n\n"
        f"targets of all together: ≤ {MOST_MIB:g} MiB PSS {verdicts[total.memory.pss <= MOST_MIB]}, "
        f"≤ {MOST_SHARE:.0%} of a core {verdicts[total.share <= MOST_SHARE]}"
    )


def _computed(family: list[psutil.Process]) -> tuple[float, int]:
    """Return processor seconds and pauses so far."""
    return sum(sum(process.cpu_times()[:2]) for process in family), sum(pauses(process.pid) for process in family)


if __name__ == "__main__":
    sys.exit(main())
