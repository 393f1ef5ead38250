"""Operating-system calls: end with the parent process, lower the priority of threads, and release memory."""

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask Linux to send this process SIGTERM when its parent dies; does nothing on other systems.

    The first process of a container has its parent outside, where process ids differ: a container runtime whose threads
    may come and go while the container runs. The end of such a thread would send the signal, so none is requested.
    """
    if sys.platform == "linux" and os.getppid() != 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def lower_priority(niceness: int) -> None:
    """Add to this thread's niceness on Linux; does nothing on other systems."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)


def release_free_memory() -> None:
    """Return freed memory, which the C library keeps for later, to the system; does nothing without glibc."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
