"""What was decided and is not in the ledger yet: up to which time the ledger is complete."""

from __future__ import annotations

import threading
from collections.abc import Callable

from services.ledger.writer import Place


class Outstanding:
    """Times of decisions that are on their way. ``lock`` makes "take the time" and "be on the way" one step."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock`` never runs back."""
        self.clock = clock
        self.lock = threading.RLock()
        self._under_way: dict[object, tuple[float, Place | None]] = {}

    def add(self, token: object, time: float) -> None:
        """Something decided at this time is on its way; call under the lock in which the time was taken."""
        self._under_way[token] = time, None

    def written(self, token: object, place: Place) -> None:
        """It is in the transaction of this place, which may still fail."""
        with self.lock:
            if token in self._under_way:
                self._under_way[token] = self._under_way[token][0], place

    def remove(self, token: object) -> None:
        """It is in the ledger for good, or something else stands for it."""
        with self.lock:
            self._under_way.pop(token, None)

    def complete_until(self, place: Place) -> float:
        """All that was decided before this time is in the ledger once the transaction of this place is committed."""
        with self.lock:
            now = self.clock()
            return min((time for time, found in self._under_way.values() if found is not place), default=now)
