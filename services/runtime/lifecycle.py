"""Life cycle of the process: readiness, calls in flight, and drain."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

LAST_ORDERS_SECONDS = 0.25
"""Time, in seconds, between the signal and the first refusal; calls sent meanwhile are still accepted."""

_TURNS_A_SECOND = 200


async def unhurried(seconds: float, longest: float) -> None:
    """Wait in many short steps, so that the event loop gets its turns even if the machine stalls.

    Bytes in a socket need some turns of the event loop before they become a call. After a stall, a single long sleep of
    the same length is over at once, whether or not anything was read meanwhile.

    Args:
        longest: seconds after which the wait ends however few steps were made; at least ``seconds``.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + max(longest, seconds)
    for _ in range(round(seconds * _TURNS_A_SECOND)):
        await asyncio.sleep(1 / _TURNS_A_SECOND)
        if clock() >= end:
            return


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
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
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
