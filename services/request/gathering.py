"""Gathering of small requests that come one after the other, so that under load they share a joint pass.

A gRPC server hands one call a turn to the event loop, by way of a thread, so calls that wait side by side are never
seen together. Under load a request therefore lingers for some turns, as long as others follow, which takes microseconds
and is less than the passes that it saves. The size of the last pass tells whether others follow: a single request ends
the lingering, and then one request in ``PROBE_EVERY`` finds out whether there are others again; the rest are answered
at once.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Generic

from services.request.contract import Answer, Request
from services.request.joint_pass import MOST_REQUESTS, JointPass, SmallRequest

LINGER_TURNS = 10
"""Turns of the event loop without another request after which the pass begins."""
LINGER_SECONDS = 0.002
"""Longest time that a request lingers while others follow."""
PROBE_EVERY = 16
"""Of so many requests that come alone, one lingers."""


class Gathering(Generic[Request, Answer]):
    """Small requests of one event loop that share passes."""

    def __init__(self, joint: JointPass[Request, Answer], clock: Callable[[], float]) -> None:
        """
        Args:
            clock: monotonic, in seconds.
        """
        self.joint = joint
        self._clock = clock
        self._waiting: list[tuple[SmallRequest[Request], asyncio.Future[Any]]] = []
        self._seconds = self._until = 0.0
        self._alone = 0
        """Requests that are answered at once before one lingers again."""

    async def answer(self, small: SmallRequest[Request]) -> Answer:
        """Return the answer to one request; one that is charged for does not linger.

        Raises:
            DemurError: the request was refused or failed.
        """
        if small.charge is not None:
            return await self.joint.answer_alone(small)
        if self._alone and not self._waiting:
            self._alone -= 1
            return await self.joint.answer_alone(small)
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        if not self._waiting:
            self._seconds, self._until = 0.0, self._clock() + LINGER_SECONDS
            loop.call_soon(self._linger, loop, 0, 0)
        self._seconds += self.joint.duration(small.request)
        self._waiting.append((small, waiter))
        return await self.joint.settled(await waiter)

    def _linger(self, loop: asyncio.AbstractEventLoop, known: int, turns: int) -> None:
        """Begin the pass, or wait another turn; ``turns`` have passed since there were ``known`` requests."""
        count = len(self._waiting)
        turns = turns + 1 if count == known else 0
        full = count >= MOST_REQUESTS or self._seconds >= self.joint.seconds
        if not full and turns < LINGER_TURNS and self._clock() < self._until:
            if self.joint.lanes_idle:  # a lane would keep the core for milliseconds
                os.sched_yield()  # on a single core, the threads that bring further calls run now or never
            loop.call_soon(self._linger, loop, count, turns)
            return
        taken, self._waiting = self._waiting[:MOST_REQUESTS], self._waiting[MOST_REQUESTS:]
        self._alone = PROBE_EVERY - 1 if count == 1 else 0
        if self._waiting:
            self._seconds = sum(self.joint.duration(small.request) for small, _ in self._waiting)
            loop.call_soon(self._linger, loop, len(self._waiting), LINGER_TURNS)
        waiting = [(small, waiter) for small, waiter in taken if not waiter.done()]  # callers may have left
        try:
            outcomes = self.joint.answer([small for small, _ in waiting])
        except Exception as defect:
            outcomes = [defect] * len(waiting)
        for (_, waiter), outcome in zip(waiting, outcomes, strict=True):
            waiter.set_result(outcome)
