"""Split of a call's cost by what the processor did: CPU time, context switches and, where visible, its counters.

``python -m benchmarks.split [--seconds S] [--only CASE …] [--page PATH]`` loads bare echoes, and Demur over gRPC and
HTTP, with 1, 16 and 64 callers. Counters are those of ``perf stat`` (Debian: linux-perf). Virtual machines often have
no hardware counters; without ``perf`` context switches are read from /proc, as the wait for a core always is. The table
says which source each number has.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks import floor, harness, machine, markdown
from benchmarks.open_loop import generate
from benchmarks.processes import PROJECT
from benchmarks.race import bodies
from benchmarks.race.bodies import Lane
from benchmarks.race.contenders import asgi_echo
from benchmarks.race.measures import plan
from benchmarks.service import Service, pinned, running

CALLERS = (1, 16, 64)
COUNTERS = ("context-switches", "instructions", "cache-misses")
PAGE = PROJECT / "benchmarks" / "split.md"
PARTS = ("echo gRPC", "echo HTTP", "gRPC", "HTTP")
_ECHO_BYTES = 200
"""Size of the bare gRPC server's answers, about that of the vessel task's for one row."""
_STOP_SECONDS = 10.0


@dataclass(frozen=True)
class Split:
    """Cost of the calls of one load."""

    case: str
    callers: int
    calls: int
    """Number of answered calls, by which all costs are divided."""
    refused: int
    """Number of calls that were not answered; their cost is in that of the others."""
    user_seconds: float
    system_seconds: float
    wait_seconds: float
    """Time that threads could have run but waited for a core; NaN if the kernel does not count it."""
    counters: Mapping[str, float] = field(default_factory=dict)
    """Counts over all calls, by the counter's name; those that the machine lacks are missing."""
    source: str = "perf"
    """Source of context switches."""

    def cells(self) -> Iterator[str]:
        """Yield the cells of the table's line: all costs for each answered call."""
        refused = self.refused / (self.calls + self.refused)
        yield from (self.case, str(self.callers), f"{self.calls:,}", f"{refused:.0%}")
        yield from (
            f"{seconds / self.calls * 1e3:.3f}"
            for seconds in (self.user_seconds, self.system_seconds, self.wait_seconds)
        )
        for name in COUNTERS:
            count = self.counters.get(name)
            yield "not visible" if count is None else f"{count / self.calls:,.2f}"
        yield self.source


def table(splits: Sequence[Split]) -> str:
    """Return the Markdown table of splits."""
    costs = (
        "user CPU, ms/call",
        "system CPU, ms/call",
        "wait for a core, ms/call",
        *(f"{name}/call" for name in COUNTERS),
    )
    return markdown.table(
        ("case", "callers", "answered", "refused", *costs, "switches from"), (split.cells() for split in splits)
    )


def parsed(text: str) -> dict[str, float]:
    """Return counts by name from the output of ``perf stat --field-separator ,``.

    Counters that are not supported or were not counted are left out.
    """
    counts = {}
    for line in text.splitlines():
        value, _, name, *_ = [*line.split(","), "", "", ""]
        if value.replace(".", "", 1).isdigit():
            counts[name.partition(":")[0]] = float(value)
    return counts


def switches(service: Service, proc: Path = Path("/proc")) -> float:
    """Return the context switches so far of all threads of a service that still run.

    Args:
        proc: where the kernel shows processes.
    """
    lines = (line for text in _of_threads(service, "status", proc) for line in text.splitlines())
    return float(sum(int(line.split()[-1]) for line in lines if "ctxt_switches" in line))


def waits(service: Service, proc: Path = Path("/proc")) -> float:
    """Return how long all threads of a service that still run have waited for a core so far, s.

    Args:
        proc: where the kernel shows processes.

    Returns:
        NaN if the kernel does not count it.
    """
    texts = list(_of_threads(service, "schedstat", proc))
    return sum(int(text.split()[1]) for text in texts) / 1e9 if texts else float("nan")


def _of_threads(service: Service, name: str, proc: Path) -> Iterator[str]:
    """Yield the text of a file of the kernel about each thread."""
    for process in service.tree():
        for path in (proc / str(process.pid) / "task").glob(f"*/{name}"):
            with suppress(OSError):  # the thread ended
                yield path.read_text()


def measure(service: Service, case: str, lane: Lane, callers: int, cores: set[int], seconds: float) -> Split:
    """Load a service with the generator on these cores and return the split of its cost.

    Raises:
        RuntimeError: no call was answered.
    """
    load = plan(service, lane, bodies.body(lane.form, 1), seconds, callers)
    before, own, waited = _cpu(service), switches(service), waits(service)
    with _perf([process.pid for process in service.tree()]) as counted:
        ended = generate(load, cores)
    after, waited = _cpu(service), waits(service) - waited
    calls = int(ended.answered.sum())
    if not calls:
        raise RuntimeError(f"{case}, {callers} callers: no call was answered: {sorted(set(ended.code.tolist()))}")
    source = "perf" if "context-switches" in counted else "/proc"
    counters = {"context-switches": switches(service) - own} | counted
    return Split(
        case,
        callers,
        calls,
        len(ended.code) - calls,
        after[0] - before[0],
        after[1] - before[1],
        waited,
        counters,
        source,
    )


def _cpu(service: Service) -> tuple[float, float]:
    times = [process.cpu_times() for process in service.tree() if process.status() != psutil.STATUS_ZOMBIE]
    return sum(each.user for each in times), sum(each.system for each in times)


@contextmanager
def _perf(pids: Sequence[int]) -> Iterator[dict[str, float]]:
    """Count what these processes do until the end of the block; the counts are there afterwards, or none are."""
    counts: dict[str, float] = {}
    program = shutil.which("perf")
    if program is None:
        yield counts
        return
    command = [program, "stat", "--field-separator", ",", "--event", ",".join(COUNTERS)]
    with subprocess.Popen(
        [*command, "--pid", ",".join(map(str, pids))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(0.3)  # until it is attached
        try:
            yield counts
        finally:
            process.send_signal(signal.SIGINT)
            _, text = process.communicate(timeout=_STOP_SECONDS)
            counts |= parsed(text)


def main(arguments: list[str] | None = None) -> int:
    """Measure all cases, print the table, and write it if asked; return 0."""
    parser = harness.parser("split", __doc__, seconds=2.0, parts=PARTS)
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE, help=f"write the table into a page, {PAGE.name}")
    options = parser.parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    own = {cores[-1]}
    described = machine.line()
    sys.stdout.write(f"{described}\n")
    with ExitStack() as stack:
        server = {cores[0]}
        echo = stack.enter_context(floor.bare(server, _ECHO_BYTES))
        echo_http = stack.enter_context(asgi_echo(server))
        service = stack.enter_context(running(server))
        stack.enter_context(pinned(own))
        cases = {
            "echo gRPC": (echo, bodies.OWN_GRPC),
            "echo HTTP": (echo_http, bodies.OWN_PROTOBUF),
            "gRPC": (service, bodies.OWN_GRPC),
            "HTTP": (service, bodies.OWN_PROTOBUF),
        }
        splits = []
        for name in options.only:
            target, lane = cases[name]
            generate(plan(target, lane, bodies.body(lane.form, 1), 0.5, 1), own)
            splits += [measure(target, name, lane, callers, own, options.seconds) for callers in CALLERS]
    sys.stdout.write(f"{table(splits)}\n")
    if options.page:
        results = f"Machine: {described}. {options.seconds:g} s for each line.\n\n{table(splits)}"
        options.page.write_text(markdown.replaced(options.page.read_text(), results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
