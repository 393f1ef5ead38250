"""Request statistics of the protocol, combined with the process's own measurements of its device."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from services.request.metrics import Metrics


@dataclass
class Durations:
    """Number of events, and their total duration."""

    count: int = 0
    seconds: float = 0.0

    def note(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds

    def json(self) -> dict[str, int]:
        return {"count": self.count, "ns": round(self.seconds * 1e9)}


class Statistics:
    """Statistics of a model. Requests and items are counted over this protocol; waiting and passes over the device are
    those of all protocols, whose requests share them.
    """

    def __init__(self, metrics: Metrics, now: Callable[[], float] = time.time) -> None:
        self.success = Durations()
        self.fail = Durations()
        self.input = Durations()
        """Durations of parsing tensors."""
        self.output = Durations()
        """Durations of writing tensors."""
        self._metrics = metrics
        self._now = now
        self._items = 0
        self._last = 0.0

    def answered(self, items: int, seconds: float) -> None:
        """Count an answered request; ``items`` of its items have an answer."""
        self._items += items
        self._last = self._now()
        self.success.note(seconds)

    def failed(self, seconds: float) -> None:
        """Count a request that was refused or failed as a whole."""
        self._last = self._now()
        self.fail.note(seconds)

    def json(self, name: str, version: str) -> dict[str, Any]:
        """Return the message ``ModelStatistics``."""
        passes, computed = self._metrics.passes
        begun, waited = self._metrics.waits
        return {
            "name": name,
            "version": version,
            "last_inference": int(self._last * 1e3),
            "inference_count": self._items,
            "execution_count": passes,
            "inference_stats": {
                "success": self.success.json(),
                "fail": self.fail.json(),
                "queue": Durations(begun, waited).json(),
                "compute_input": self.input.json(),
                "compute_infer": Durations(passes, computed).json(),
                "compute_output": self.output.json(),
            },
        }
