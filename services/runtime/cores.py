"""Number of CPU cores available to this process: its affinity mask, capped by the quotas of its control groups.

A container's CPU limit is a quota of its control group, which leaves every core of the host visible. Lanes beyond the
quota would be throttled in turn.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def available_cores(system: Path = Path("/")) -> int:
    """Return the number of whole cores, at least 1; a lane on a fraction of a core would be throttled.

    Args:
        system: folder that contains ``proc`` and ``sys``.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min([allowed, *quotas(system)])))


def quotas(system: Path = Path("/")) -> Iterator[float]:
    """Yield the CPU quotas, in cores, of this process's control group and its ancestors, if there are any."""
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
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
    """Yield a group's folder and its ancestors; only the mount if a container sees only its own group."""
    relative = PurePosixPath(path.lstrip("/"))
    folders = [mount / part for part in (relative, *relative.parents) if ".." not in part.parts]
    yield from dict.fromkeys([*folders, mount])


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:  # no such limit here
        return []


def _share(*words: str) -> Iterator[float]:
    """Yield quota / period, both in microseconds; nothing for ``max``, ``-1`` or unexpected content."""
    if len(words) == 2 and all(word.isdecimal() and int(word) for word in words):
        yield int(words[0]) / int(words[1])
