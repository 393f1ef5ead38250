"""Who is let in: how much may wait, so that what is answered is answered in time, and the rest is told at once.

A request that waits behind others takes as many times as long as alone as there are of them, whatever one takes on
this machine. So what is promised to callers is kept by counting requests, not by a time: ``Crowd`` is that count, with
room for bursts. ``Room`` adds what the schedule sets aside, in seconds and bytes. Both are arithmetic; whoever asks
them refuses, and cheaply: under a flood most of what a process does is to refuse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import ContextVar

from services.request.contract import Priority
from services.runtime.errors import Busy

BURST = 4
"""Times as many may be inside for a moment as for long."""
PATIENCE_SECONDS = 0.25
"""What is longer is no burst, but more than can be done."""
_CALM = 4
"""It is over when a quarter of what may be inside for long is left."""
_REST_SECONDS = 1.0
_REST_SHARE = 0.1
"""A flood has its lulls, too: there is room for a burst again when so long nobody was refused, or hardly anybody, so
that what is left of a flood on a busy day does not keep itself up."""
_MEMORY_CALLS = 200
"""Of the share that was refused."""


class Crowd:
    """Counts who is inside; full at ``most``, or at ``BURST`` times that when it was calm a moment ago.

    Refusing above a low count would turn away what a machine that was idle does in no time; refusing above a high one
    makes everybody wait once there is always more to do. What tells them apart is whether the place ever empties.
    """

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """``clock`` is monotonic, in seconds."""
        self.most = most
        self.inside = 0
        self._clock = clock
        self._calm_until = clock() + PATIENCE_SECONDS
        self._refused_at = -math.inf
        self._refused_share = 0.0

    def enter(self) -> bool:
        """Take one in; False: it is refused."""
        self._look_around()
        self._refused_share -= self._refused_share / _MEMORY_CALLS
        if self.inside >= self.most:
            now = self._clock()
            if self.inside >= self.most * BURST or now > self._calm_until:
                self._refused_at = now
                self._refused_share += 1 / _MEMORY_CALLS
                return False
        self.inside += 1
        return True

    def leave(self) -> None:
        self.inside -= 1
        self._look_around()

    def _look_around(self) -> None:
        if self.inside <= self.most // _CALM:
            now = self._clock()
            if self._refused_share < _REST_SHARE or now > self._refused_at + _REST_SECONDS:
                self._calm_until = now + PATIENCE_SECONDS


class Ticket:
    """A place in a crowd that was entered, given back once."""

    __slots__ = ("_crowd",)

    def __init__(self, crowd: Crowd) -> None:
        self._crowd: Crowd | None = crowd

    def give_back(self) -> None:
        if self._crowd is not None:
            self._crowd.leave()
            self._crowd = None


ticket: ContextVar[Ticket | None] = ContextVar("ticket", default=None)
"""Of the call that runs, at the door of the event loop; a call whose work is done elsewhere gives it back before."""


class Room:
    """What is queued for the device, by class, and whether more fits.

    Bulk work has to fit beside all there is. Interactive work goes before it, so it has to fit beside what is
    interactive, in seconds and in number; memory is one for both.
    """

    def __init__(
        self, lanes: int, queue_seconds: float, queue_bytes: int, lane_calls: int, clock: Callable[[], float]
    ) -> None:
        """Seconds and calls are per lane."""
        self.nbytes = 0
        self._lanes = lanes
        self._most_seconds = queue_seconds * lanes
        self._most_bytes = queue_bytes
        self._crowd = Crowd(lane_calls * lanes, clock)
        self._seconds = [0.0, 0.0]
        self._requests = [0, 0]

    @property
    def seconds(self) -> float:
        """Declared device time of both classes."""
        return sum(self._seconds)

    def enter(self, seconds: float, nbytes: int, priority: Priority) -> None:
        """Set room aside for a request.

        Raises:
            Busy: there is none; ``retry_after_seconds`` is half the time that working off what is queued takes.
        """
        classes = slice(0, 1) if priority is Priority.INTERACTIVE else slice(0, 2)
        queued, requests = sum(self._seconds[classes]), sum(self._requests[classes])
        full = bool(requests) and queued + seconds > self._most_seconds
        full = full or (bool(self.nbytes) and self.nbytes + nbytes > self._most_bytes)
        if full or (priority is Priority.INTERACTIVE and not self._crowd.enter()):
            wait = max(0.05, queued / self._lanes / 2)
            raise Busy(
                f"{requests} requests of {queued:.1f} s and {self.nbytes >> 20} MiB are queued; this one would add "
                f"{seconds:.2f} s and {nbytes >> 20} MiB; retry in {wait:.1f} s",
                code="queue_full",
                retry_after_seconds=wait,
            )
        self._seconds[priority] += seconds
        self._requests[priority] += 1
        self.nbytes += nbytes

    def leave(self, seconds: float, priority: Priority) -> None:
        """A request ended; its memory may be held still."""
        self._requests[priority] -= 1
        self._seconds[priority] = max(0.0, self._seconds[priority] - seconds) if self._requests[priority] else 0.0
        if priority is Priority.INTERACTIVE:
            self._crowd.leave()

    def free(self, nbytes: int) -> None:
        """Nothing of a request is in memory any more."""
        self.nbytes -= nbytes
