"""Histogram of a Prometheus metric: cheap to observe, formatted only at scrape."""

import time
from bisect import bisect_left
from itertools import accumulate
from typing import Any

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString


class Histogram:
    """Counts by upper bound, and the sum; each bound keeps the last value of a traced call as its exemplar."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0
        self._exemplars: dict[int, tuple[str, float, float]] = {}

    @property
    def count(self) -> int:
        """Number of observed values."""
        return sum(self._counts)

    def observe(self, value: float, trace_id: str = "") -> None:
        """Count a value; ``trace_id`` names a recorded trace and is empty otherwise."""
        place = bisect_left(self._bounds, value)
        self._counts[place] += 1
        self.sum += value
        if trace_id:
            self._exemplars[place] = (trace_id, value, time.time())

    def export(self, family: HistogramMetricFamily, labels: tuple[str, ...]) -> None:
        """Add buckets, sum and exemplars to a metric family."""
        bounds = map(floatToGoString, (*self._bounds, float("inf")))
        buckets: list[Any] = [*zip(bounds, accumulate(self._counts), strict=True)]
        for place, (trace_id, *seen) in self._exemplars.items():
            buckets[place] += (Exemplar({"trace_id": trace_id}, *seen),)
        family.add_metric(labels, buckets, self.sum)
