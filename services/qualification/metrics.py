"""Prometheus metrics of the verdict on the numeric profile of a process."""

from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from services.qualification.standing import Standing


class QualificationMetrics(Collector):
    """Collector of the standing at each scrape; one series per task, since a process has one profile."""

    def __init__(self, task: str, registry: CollectorRegistry, standing: Callable[[], Standing]) -> None:
        self._task = task
        self._standing = standing
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families of the verdict and its progress."""
        standing = self._standing()
        labels = {"task": self._task, "profile": standing.tables.profile.name}
        verdict = GaugeMetricFamily(
            "demur_qualification",
            "1 for the verdict on the numeric profile in force.",
            labels=("task", "profile", "verdict"),
        )
        verdict.add_metric((*labels.values(), standing.tables.origin), 1)
        yield verdict
        if standing.tables.origin != "qualifying" and standing.tables.record is None:  # nothing is measured
            return
        share = GaugeMetricFamily(
            "demur_qualification_done_ratio",
            "Share of the replay set that was measured under the numeric profile in force.",
            labels=tuple(labels),
        )
        share.add_metric(tuple(labels.values()), standing.done)
        yield share
