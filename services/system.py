"""What a process asks of the operating system: to end with its parent, to let some threads go last, and how many
cores are its own."""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_CGROUP = Path("/sys/fs/cgroup")


def die_with_parent() -> None:
    """Linux sends this process SIGTERM when its parent dies, however it dies; elsewhere nothing happens.

    The first process of a container has its parent outside, where ours are not counted: a container runtime, whose
    threads may come and go while the container runs. With such a thread the signal would come, so none is asked for.
    """
    if sys.platform == "linux" and os.getppid() != 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def lower_priority(niceness: int) -> None:
    """Adds to this thread's niceness, on Linux; elsewhere threads have none of their own."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)


def available_cores() -> int:
    """Cores that this process may use: those it may run on, and no more than a container's limit, rounded up."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, max(1, math.ceil(min(cores, cpu_limit()))))


def cpu_limit(cgroup: Path = _CGROUP) -> float:
    """Cores' worth of time that a container may use; infinite where nothing is said."""
    with suppress(OSError, ValueError, ZeroDivisionError):  # cgroup v2: microseconds of a period, or "max" of it
        quota, period = (cgroup / "cpu.max").read_text().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError, ZeroDivisionError):  # v1: -1 is no limit
        microseconds = int((cgroup / "cpu" / "cpu.cfs_quota_us").read_text())
        return microseconds / int((cgroup / "cpu" / "cpu.cfs_period_us").read_text()) if microseconds > 0 else math.inf
    return math.inf
