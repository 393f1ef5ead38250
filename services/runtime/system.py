"""Operating-system calls: end with the parent process, lower the priority of threads, and release memory."""

import ctypes
import os
import signal
import struct
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


_SET_ATTRIBUTES = {"x86_64": 314, "aarch64": 274}
"""Number of the system call sched_setattr by machine."""
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
_KEEP_POLICY = 0x08
_SLICE_NANOSECONDS = 100_000


def lower_priority(niceness: int) -> None:
    """Add to this thread's niceness on Linux, and shorten its time slice; does nothing on other systems.

    Since Linux 6.12 a thread that wakes up waits for the rest of the running one's slice, by default milliseconds, even
    if that one is nicer. Older kernels, and containers that forbid the call, keep the slice as it is.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)
        if (call := _SET_ATTRIBUTES.get(os.uname().machine)) is not None:
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, 0, _KEEP_POLICY, nice, 0, _SLICE_NANOSECONDS, 0, 0)
            ctypes.CDLL(None).syscall(call, thread, attributes, 0)


def release_free_memory() -> None:
    """Return freed memory, which the C library keeps for later, to the system; does nothing without glibc."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
