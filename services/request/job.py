"""Job: a request's work in the schedule, iterated by its caller as a stream of events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from services.request.contract import Event, Priority, Quantum, Steps, Work
from services.runtime.errors import Cancelled
from services.runtime.logging import get_logger
from services.tracing.trace import Share

_log = get_logger(__name__)


class Turn:
    """Quanta that a job has to run before its generator goes on: one, or several side by side."""

    def __init__(self, work: Quantum | Steps) -> None:
        self._several = isinstance(work, Steps)
        quanta = work.steps if isinstance(work, Steps) else (work,)
        self._waiting = deque(enumerate(quanta))
        self._results: list[Any] = [None] * len(quanta)
        self._missing = len(quanta)

    @property
    def next(self) -> Quantum | None:
        """First quantum that has not started; None if all have."""
        return self._waiting[0][1] if self._waiting else None

    def take(self) -> tuple[int, Quantum]:
        """Start the next quantum; return its place and itself."""
        return self._waiting.popleft()

    def put(self, place: int, result: Any) -> bool:
        """Keep a result; return True when all results are complete."""
        self._results[place] = result
        self._missing -= 1
        return not self._missing

    @property
    def result(self) -> Any:
        """Value to send to the generator."""
        return self._results if self._several else self._results[0]


class Job:
    """Work in the schedule; iterate over its events. If the iteration ends early, call ``cancel``."""

    def __init__(self, work: Work, seconds: float, nbytes: int, priority: Priority, deadline: float | None) -> None:
        self.work = work
        self.seconds = seconds
        self.nbytes = nbytes
        self.priority = priority
        self.deadline = deadline
        self.turn: Turn | None = None
        self.share: Share | None = None
        """Share of the trace that passes are reported to; None without a trace."""
        self.state: Literal["active", "finished", "cancelled"] = "active"
        self.release: Callable[[], None] = lambda: None
        """Callback at the end of the job, called once: releases the room that the queue reserved."""
        self.queued = False
        """True while the job is in a queue of the scheduler; it is at most once in a queue."""
        self.running = 0
        """Number of its quanta in lanes; they hold its memory even after it ended."""
        self.waits_since: float | None = None
        """Time of arrival, on the scheduler's clock; None once the job has started."""
        self._events: deque[Event] = deque()
        self.error: BaseException | None = None
        """Error that ended the job, if any."""
        self._wake: asyncio.Future[None] | None = None

    @property
    def quantum(self) -> Quantum | None:
        """Next quantum to run."""
        return None if self.turn is None else self.turn.next

    def __aiter__(self) -> Job:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self.error is not None:
                raise self.error
            if self.state != "active":
                raise StopAsyncIteration
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        return self._events.popleft()

    def cancel(self) -> None:
        """Drop quanta that have not started; the result of a running one is ignored."""
        if self.state == "active":
            self.end("cancelled", Cancelled("the request was cancelled", code="cancelled"))

    def emit(self, event: Event) -> None:
        """Pass an event to the iterating caller; for the scheduler."""
        self._events.append(event)
        self._notify()

    def end(self, state: Literal["finished", "cancelled"], error: BaseException | None = None) -> None:
        """Close the work and wake the iterating caller; for the scheduler."""
        self.state = state
        self.error = error
        self.turn = None
        try:
            with suppress(ValueError):  # the generator may be running: it ends on its own
                self.work.close()
        except Exception:
            _log.exception("work failed while it was closed")
        finally:
            self.release()
            self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
