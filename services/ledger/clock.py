"""The times of one writer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Clock:
    """Wall clock that never runs back, for all times of one writer; used by several threads."""

    wall: Callable[[], float] = time.time
    _last: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> float:
        """Seconds since 1970."""
        with self._lock:
            self._last = max(self._last, self.wall())
            return self._last
