"""Admission control: bound the queue so that accepted calls meet their deadline; refuse the others at once.

The waiting time of a request is proportional to the number of requests before it, however long each takes on this
machine. So the bound is a number of requests, not a time: ``Crowd`` counts them, with an allowance for bursts. ``Room``
adds limits of declared device time, in seconds, and of memory, in bytes. Both are plain arithmetic; the caller raises
the error, cheaply, since an overloaded process spends most of its time on refusals.
"""

import math
from collections.abc import Callable
from contextvars import ContextVar

from services.request.contract import Priority
from services.runtime.errors import Busy

BURST = 4
"""Factor by which the limit may be exceeded during a burst."""
PATIENCE_SECONDS = 0.25
"""Longest burst, in seconds; a longer one is overload."""
_CALM = 4
"""Divisor of the limit; at or below this share of it, the count is calm."""
_REST_SECONDS = 1.0
_REST_SHARE = 0.1
"""Overload has gaps, too: bursts are allowed again after one second without a refusal, or if few calls were refused
recently, so that occasional refusals on a busy day do not prolong the overload.
"""
_MEMORY_CALLS = 200
"""Number of calls over which the refused share is averaged."""


class Crowd:
    """Counter of calls inside; full at ``most``, or at ``BURST`` times that if it was calm a moment ago.

    A low limit would refuse calls that an idle machine finishes at once; a high one would make all calls wait under
    constant load. The two cases differ in whether the count ever becomes low.
    """

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """Start empty; ``clock`` is monotonic, in seconds."""
        self.most = most
        self.inside = 0
        self._clock = clock
        self._calm_until = clock() + PATIENCE_SECONDS
        self._refused_at = -math.inf
        self._refused_share = 0.0

    def enter(self) -> bool:
        """Count a call in; return False if it is refused."""
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
    """Entry in a crowd, given back at most once."""

    __slots__ = ("_crowd",)

    def __init__(self, crowd: Crowd) -> None:
        self._crowd: Crowd | None = crowd

    def give_back(self) -> None:
        if self._crowd is not None:
            self._crowd.leave()
            self._crowd = None


ticket: ContextVar[Ticket | None] = ContextVar("ticket", default=None)
"""Ticket of the current call on the event loop; a call that goes on in a lane gives it back early."""


class Room:
    """Accounting of the work queued for the device, by class, and of the room left.

    Bulk work has to fit beside all queued work. Interactive work runs before it, so it has to fit beside interactive
    work only, in seconds and in number; the memory limit is shared.
    """

    def __init__(
        self, lanes: int, queue_seconds: float, queue_bytes: int, lane_calls: int, clock: Callable[[], float]
    ) -> None:
        """Start empty; seconds and calls are per lane."""
        self.nbytes = 0
        self._lanes = lanes
        self._most_seconds = queue_seconds * lanes
        self._most_bytes = queue_bytes
        self._crowd = Crowd(lane_calls * lanes, clock)
        self._seconds = [0.0, 0.0]
        self._requests = [0, 0]

    @property
    def seconds(self) -> float:
        """Declared device time of both classes, in seconds."""
        return sum(self._seconds)

    def enter(self, seconds: float, nbytes: int, priority: Priority) -> None:
        """Reserve room for a request.

        Raises:
            Busy: the queue is full; ``retry_after_seconds`` is half the time that the queued work takes.
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
        """Release the seconds and the place of a request that ended; its memory may still be held."""
        self._requests[priority] -= 1
        self._seconds[priority] = max(0.0, self._seconds[priority] - seconds) if self._requests[priority] else 0.0
        if priority is Priority.INTERACTIVE:
            self._crowd.leave()

    def free(self, nbytes: int) -> None:
        """Release the memory of a request."""
        self.nbytes -= nbytes
