"""Life cycle of the process: readiness, calls in flight, and drain."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

LAST_ORDERS_SECONDS = 0.25
"""Time, in seconds, between the signal and the first refusal; calls sent meanwhile are still accepted."""

_STEP_SECONDS = 0.005
_LATE_SECONDS = 2 * _STEP_SECONDS
"""Duration of a step from which the machine counts as busy."""
_BUSY_FACTOR = 8
"""A wait on a busy machine takes this many times as long before late steps count as well."""


async def unhurried(seconds: float, longest: float) -> None:
    """Wait in many short steps; steps that take too long do not count for a while, because the machine is busy.

    Bytes in a socket need some turns of the event loop, and of the threads that read sockets, before they become a
    call. After a stall, a single long sleep of the same length is over at once, whether or not anything was read
    meanwhile.

    Args:
        longest: seconds after which the wait ends however few steps were made; at least ``seconds``.
    """
    clock = asyncio.get_running_loop().time
    start = clock()
    steps = round(seconds / _STEP_SECONDS)
    while steps and (before := clock()) < start + max(longest, seconds):
        await asyncio.sleep(_STEP_SECONDS)
        if clock() - before < _LATE_SECONDS or before - start > _BUSY_FACTOR * seconds:
            steps -= 1


class Lifecycle:
    """State of the process, read by probes and by every HTTP request."""

    def __init__(self) -> None:
        self.reason = "starting"
        """Reason why the process is not ready; empty once it is."""
        self.trouble: Callable[[], str] = str
        """Function that returns the reason for a temporary outage, such as a failed device; empty if there is none."""
        self.leaving = False
        """True once the process has to end."""
        self.draining = False
        """True while new calls are refused."""
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def ready(self) -> bool:
        return not self.reason and not self.leaving and not self.trouble()

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count an HTTP call that a drain has to wait for."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Count in a call that a drain has to wait for, until ``leave``."""
        self._in_flight += 1
        self._idle.clear()

    def leave(self) -> None:
        """Count out a call that has ended."""
        self._in_flight -= 1
        if self._in_flight == 0:
            self._idle.set()

    async def drain(
        self,
        grpc: Callable[[float], Awaitable[None]],
        seconds: float,
        *,
        stop_listening: Callable[[], None] = lambda: None,
    ) -> None:
        """Keep accepting for a short grace period, then refuse new calls and wait for those in flight.

        A call is in flight from the moment its caller has sent it: it may still lie in a socket, or its connection in
        the kernel's queue, when the signal comes.

        Args:
            grpc: drains the gRPC server within the seconds given to it.
            seconds: limit of the wait for calls in flight; also limits the grace period.
            stop_listening: stops accepting new HTTP connections.
        """
        self.leaving = True
        await unhurried(LAST_ORDERS_SECONDS, seconds)
        self.draining = True
        stop_listening()
        idle = asyncio.wait_for(self._idle.wait(), seconds)
        await asyncio.gather(grpc(seconds), idle, return_exceptions=True)
