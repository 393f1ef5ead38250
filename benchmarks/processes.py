"""Child processes of benchmarks, and the memory and the pauses of a process by the kernel's counts."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


@contextmanager
def child(command: Sequence[str], cores: set[int] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run Python with these arguments on some cores until the end of the block; its standard output is a pipe."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def last_line(module: str, *arguments: str) -> str:
    """Run a module of this project as a command and return the last line that it prints, empty if it prints nothing.

    Raises:
        RuntimeError: the command failed.
    """
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed: {done.stderr[-2000:]}")
    return (done.stdout.splitlines() or [""])[-1]


def forget_peak() -> None:
    """Let the peak of this process's memory begin anew, if the kernel allows it."""
    place = Path("/proc/self/clear_refs")
    if place.exists():
        place.write_text("5")


def memory_mib(name: str) -> float:
    """Return memory of this process: ``VmRSS`` or ``VmHWM``, its peak; NaN if the kernel does not report it."""
    status = Path("/proc/self/status")
    line = re.search(rf"^{name}:\s+(\d+) kB$", status.read_text() if status.exists() else "", re.MULTILINE)
    return int(line[1]) / 1024 if line else float("nan")


@dataclass(frozen=True)
class Memory:
    """Memory of processes, MiB."""

    pss: float
    """Private pages, and a share of each page that several processes have."""
    private: float
    """Pages that no other process has."""

    def __add__(self, other: "Memory") -> "Memory":
        return Memory(self.pss + other.pss, self.private + other.private)


def memory_of(pid: int) -> Memory:
    """Return the memory of a process.

    Raises:
        OSError: there is no such process, or the kernel does not tell (it is not Linux, or another user's).
    """
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    sizes = {name: int(size) / 1024 for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    return Memory(sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"])


def pauses(pid: int) -> int:
    """Return how often the threads of a process have left their processor by themselves."""
    counts = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(OSError):  # a thread that ended meanwhile
            switches = re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", status.read_text(), re.MULTILINE)
            counts += int(switches[1]) if switches else 0
    return counts
