"""A job: one request's work while it is in the schedule, seen by its caller as a stream of events."""

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
    """What a job wants to have run before its generator goes on: one quantum, or several side by side."""

    def __init__(self, wanted: Quantum | Steps) -> None:
        self._several = isinstance(wanted, Steps)
        quanta = wanted.steps if isinstance(wanted, Steps) else (wanted,)
        self._waiting = deque(enumerate(quanta))
        self._results: list[Any] = [None] * len(quanta)
        self._missing = len(quanta)

    @property
    def next(self) -> Quantum | None:
        """The first quantum that has not begun."""
        return self._waiting[0][1] if self._waiting else None

    def take(self) -> tuple[int, Quantum]:
        """Begin it: its place and itself."""
        return self._waiting.popleft()

    def put(self, place: int, result: Any) -> bool:
        """Keep a result; True when all are there."""
        self._results[place] = result
        self._missing -= 1
        return not self._missing

    @property
    def result(self) -> Any:
        """What the generator is sent."""
        return self._results if self._several else self._results[0]


class Job:
    """Work in the schedule; iterate over its events. Leaving early must be followed by ``cancel``."""

    def __init__(self, work: Work, seconds: float, nbytes: int, priority: Priority, deadline: float | None) -> None:
        self.work = work
        self.seconds = seconds
        self.nbytes = nbytes
        self.priority = priority
        self.deadline = deadline
        self.turn: Turn | None = None
        self.share: Share | None = None
        """What its trace hears of passes; None where there is none."""
        self.state: Literal["active", "finished", "cancelled"] = "active"
        self.release: Callable[[], None] = lambda: None
        """Called once, when the job ends: gives back what the queue set aside for it."""
        self.queued = False
        """Whether it stands in a queue of the scheduler; it does so once at most."""
        self.running = 0
        """Its quanta in lanes, which hold its memory also after it ended."""
        self.waits_since: float | None = None
        """When it came, on the scheduler's clock; None: it has begun to run."""
        self._events: deque[Event] = deque()
        self.error: BaseException | None = None
        """What it ended in."""
        self._wake: asyncio.Future[None] | None = None

    @property
    def quantum(self) -> Quantum | None:
        """The next to run."""
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
        """Drop what has not run yet; a quantum that is running ends unheard."""
        if self.state == "active":
            self.end("cancelled", Cancelled("the request was cancelled", code="cancelled"))

    def emit(self, event: Event) -> None:
        """Hands an event to whoever iterates; for the scheduler."""
        self._events.append(event)
        self._notify()

    def end(self, state: Literal["finished", "cancelled"], error: BaseException | None = None) -> None:
        """Close the work and tells whoever iterates; for the scheduler."""
        self.state = state
        self.error = error
        self.turn = None
        try:
            with suppress(ValueError):  # the generator may be running: it ends by itself
                self.work.close()
        except Exception:
            _log.exception("work failed while it was closed")
        finally:
            self.release()
            self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
