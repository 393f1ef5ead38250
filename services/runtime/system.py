"""What a process asks of the operating system: to end with its parent, and to let some threads go last."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Linux sends this process SIGTERM when its parent dies, however it dies; elsewhere nothing happens.

    The first process of a container has its parent outside, where ours are not counted: a container runtime, whose
    threads may come and go while the container runs. With such a thread the signal would come, so none is asked for.
    """
    if sys.platform == "linux" and os.getppid() != 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def lower_priority(niceness: int) -> None:
    """Add to this thread's niceness, on Linux; elsewhere threads have none of their own."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)
