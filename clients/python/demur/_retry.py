"""Retries of failed calls: only while the service is unavailable, and never past the deadline."""

import random
import time
from dataclasses import dataclass

from demur._errors import DemurError, InvalidInput, Unavailable

_EARNED = 0.1
"""Share of a retry that one success earns back."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Policy of retries after UNAVAILABLE; no other failure is retried.

    Pauses double from ``initial_seconds`` to ``max_seconds``, each shortened at random by up to half so
    that many clients do not retry at once. A pause that would outlast the deadline is not begun.
    ``Retry(attempts=1)`` never retries.
    """

    attempts: int = 4
    """Calls in all, the first included."""
    initial_seconds: float = 0.05
    max_seconds: float = 2.0
    budget: float = 20.0
    """Retries that a client may make in a row; each success earns a tenth of one back, up to this many.
    It keeps the load on a struggling service near that on a healthy one."""

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 <= self.initial_seconds <= self.max_seconds or self.budget < 0:
            raise ValueError(
                f"a retry needs attempts >= 1, 0 <= initial_seconds <= max_seconds and budget >= 0: {self}"
            )


class Deadline:
    """Deadline of a call of the client, shared by all its requests on the wire."""

    __slots__ = ("_moment", "seconds")

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise InvalidInput(
                f"timeout = {seconds:g} s: give seconds above 0, or None",
                field="timeout",
                value=f"{seconds:g}",
                unit="s",
            )
        self.seconds = seconds
        self._moment = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Return the seconds left, negative when past; None without a limit."""
        return None if self._moment is None else self._moment - time.monotonic()

    def outlasts(self, seconds: float) -> bool:
        """Return whether time is left after a pause of this length."""
        return self._moment is None or time.monotonic() + seconds < self._moment


class RetryBudget:
    """Retry policy of one client, and the retries that it has left.

    Threads share it without a lock: a lost update moves the budget by a fraction of one retry.
    """

    __slots__ = ("_budget", "_retry")

    def __init__(self, retry: Retry) -> None:
        self._retry = retry
        self._budget = retry.budget

    def succeeded(self) -> None:
        """Record a successful call."""
        if self._budget < self._retry.budget:
            self._budget = min(self._budget + _EARNED, self._retry.budget)

    def pause(self, error: DemurError, failures: int, deadline: Deadline) -> float | None:
        """Return the seconds to wait before the next attempt after this many failures of a call; None to give up."""
        retry = self._retry
        if not isinstance(error, Unavailable) or failures >= retry.attempts or self._budget < 1:
            return None
        seconds = min(retry.max_seconds, retry.initial_seconds * 2.0 ** (failures - 1))
        seconds *= 0.5 + random.random() / 2  # noqa: S311 - spread, not secrecy
        seconds = max(seconds, error.retry_after_seconds or 0.0)
        if not deadline.outlasts(seconds):
            return None
        self._budget -= 1
        return seconds
