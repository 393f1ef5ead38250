"""Peak resident memory of a scan over that of one bare window, each in a process of its own."""

import math
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

from benchmarks.harness import Figure
from benchmarks.lesion_volume.ensembles import SHAPE, opened
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference import segment

MIB = 1 << 20


def measure(name: str, scan: Path) -> Iterator[Figure]:
    """Measure MiB above the process's memory with its members loaded."""
    window, peak, members = (_child(name, scan, what) for what in ("window", "scan", "members"))
    volumes = (members + 3) * math.prod(SHAPE) * 4 / MIB
    allowed = 1.5 * volumes + window
    yield Figure(name, "peak memory of a scan", peak, "MiB", at_most=round(allowed), note=f"a window: {window:.0f} MiB")


def _child(name: str, scan: Path, what: str) -> float:
    command = [sys.executable, "-m", "benchmarks.lesion_volume.memory", name, str(scan), what]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


def main(name: str, scan: str, what: str) -> None:
    """Load the members in the child process, run the requested part, and print the memory that it took."""
    content = Path(scan).read_bytes()
    members, recipe = opened(name)
    if what == "members":
        sys.stdout.write(f"{len(members)}\n")
        return
    _forget_peak()
    before = psutil.Process().memory_info().rss / MIB
    if what == "window":
        members.difference(0, np.zeros((len(recipe.channels), *recipe.window), np.float32))
    else:
        segment.segment(read_scan({"flair": content}, recipe.channels), members, recipe)
    sys.stdout.write(f"{_peak() - before:.1f}\n")


def _forget_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123
        file.write("5")


def _peak() -> float:
    with open("/proc/self/status") as file:  # noqa: PTH123
        lines = dict(line.split(":", 1) for line in file)
    return (
        int(lines["VmHWM"].split()[0]) / 1024
        if "VmHWM" in lines
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
