"""How many cores this process may use: those that it may run on, and no more than its control group pays for.

A container's CPU limit is a quota of its control group, which leaves every core of the host visible. Lanes beyond it
would take turns at being stopped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def available_cores(system: Path = Path("/")) -> int:
    """Whole cores, at least one; half a core more would be stopped half of the time.

    Args:
        system: where ``proc`` and ``sys`` are.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min([allowed, *quotas(system)])))


def quotas(system: Path = Path("/")) -> Iterator[float]:
    """Cores that the control group of this process, and each that it is in, may use; none where there is no limit."""
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux
        return
    root = system / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2, alone or beside version 1
            for folder in _upwards(_mounted(root / "unified") or root, path):
                yield from _share(*_words(folder / "cpu.max"))
        elif "cpu" in controllers.split(","):
            for folder in _upwards(_mounted(root / controllers) or root / "cpu", path):
                yield from _share(*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us"))


def _mounted(folder: Path) -> Path | None:
    return folder if folder.is_dir() else None


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """The folder of a group and those above it; of the mount alone where a container sees only its own."""
    relative = PurePosixPath(path.lstrip("/"))
    found = [mount / part for part in (relative, *relative.parents) if ".." not in part.parts]
    yield from dict.fromkeys([*found, mount])


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:  # no such limit here
        return []


def _share(*words: str) -> Iterator[float]:
    """Quota by period, both in microseconds; none for ``max`` and ``-1``, or where there is something else."""
    if len(words) == 2 and all(word.isdecimal() and int(word) for word in words):
        yield int(words[0]) / int(words[1])
