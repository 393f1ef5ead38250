"""From start to drain: whether this process is ready, what is in flight, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

LAST_ORDERS_SECONDS = 0.25
"""Between the signal and the first refusal: what callers sent before they could know is still taken."""

_TURNS_A_SECOND = 200


async def unhurried(seconds: float, longest: float) -> None:
    """Wait in many short steps: on a machine that stands still they stretch, and the loop has its turns all the same.

    What lies in a socket needs some turns of the event loop until it is a call. One long sleep is over after a stall
    of its length, whether or not anything was read meanwhile.

    Args:
        longest: seconds after which it is over however few its steps were; at least ``seconds``.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + max(longest, seconds)
    for _ in range(round(seconds * _TURNS_A_SECOND)):
        await asyncio.sleep(1 / _TURNS_A_SECOND)
        if clock() >= end:
            return


class Lifecycle:
    """State of the process, asked by probes and by every HTTP request."""

    def __init__(self) -> None:
        self.reason = "starting"
        """Why the process is not ready; empty once it is."""
        self.trouble: Callable[[], str] = str
        """What keeps it from answering for a while, such as a failed device; empty where nothing does."""
        self.leaving = False
        """The process was told to end."""
        self.draining = False
        """New calls are refused."""
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
        """Take last orders, then refuses new calls of both protocols at once and wait for those in flight.

        A call is in flight from the moment its caller has sent it: it may still lie in a socket, or its
        connection in the kernel's queue, when the signal comes.

        Args:
            grpc: drains the gRPC server within the seconds given to it.
            seconds: after this the process ends all the same; last orders take no longer either.
            stop_listening: turns away new connections of HTTP.
        """
        self.leaving = True
        await unhurried(LAST_ORDERS_SECONDS, seconds)
        self.draining = True
        stop_listening()
        idle = asyncio.wait_for(self._idle.wait(), seconds)
        await asyncio.gather(grpc(seconds), idle, return_exceptions=True)
