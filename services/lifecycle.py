"""From start to drain: whether this process is ready, what is in flight, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager


class Lifecycle:
    """State of the process, asked by probes and by every HTTP request."""

    def __init__(self) -> None:
        self.reason = "starting"
        """Why the process is not ready; empty once it is."""
        self.draining = False
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def ready(self) -> bool:
        return not self.reason and not self.draining

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Counts an HTTP call that a drain has to wait for."""
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if self._in_flight == 0:
                self._idle.set()

    async def drain(self, grpc: Callable[[float], Awaitable[None]], seconds: float) -> None:
        """Refuses new calls of both protocols at once and waits until those in flight have ended.

        Args:
            grpc: drains the gRPC server within the seconds given to it.
            seconds: after this the process ends all the same.
        """
        self.draining = True
        idle = asyncio.wait_for(self._idle.wait(), seconds)
        await asyncio.gather(grpc(seconds), idle, return_exceptions=True)
