"""Peak resident memory of a scan over that of one bare window, each in a process of its own."""

import math
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Figure
from benchmarks.lesion_volume.ensembles import SHAPE, opened
from benchmarks.processes import forget_peak, last_line, memory_mib
from models.tasks.lesion.data.image import read_scan
from models.tasks.lesion.inference import segment

MIB = 1 << 20


def measure(name: str, scan: Path) -> Iterator[Figure]:
    """Measure MiB above the process's memory with its members loaded."""
    window, peak, members = (
        float(last_line("benchmarks.lesion_volume.memory", name, str(scan), what))
        for what in ("window", "scan", "members")
    )
    volumes = (members + 3) * math.prod(SHAPE) * 4 / MIB
    allowed = 1.5 * volumes + window
    yield Figure(name, "peak memory of a scan", peak, "MiB", at_most=round(allowed), note=f"a window: {window:.0f} MiB")


def main(name: str, scan: str, what: str) -> None:
    """Load the members in the child process, run the requested part, and print the memory that it took."""
    content = Path(scan).read_bytes()
    members, recipe = opened(name)
    if what == "members":
        sys.stdout.write(f"{len(members)}\n")
        return
    forget_peak()
    before = memory_mib("VmRSS")
    if what == "window":
        members.difference(0, np.zeros((len(recipe.channels), *recipe.window), np.float32))
    else:
        segment.segment(read_scan({"flair": content}, recipe.channels), members, recipe)
    peak = memory_mib("VmHWM")
    if math.isnan(peak):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"{peak - before:.1f}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
