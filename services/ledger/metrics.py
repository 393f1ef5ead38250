"""Prometheus metrics of a ledger."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from services.ledger.ledger import DurableLedger
from services.runtime.histogram import Histogram

_FLUSH_SECONDS = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


class LedgerMetrics:
    """Counts of units and flushes, exported at each scrape of the registry."""

    def __init__(self, task: str, registry: CollectorRegistry) -> None:
        self._task = task
        self._recorded = 0
        self._unrecorded: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._audited: Counter[str] = Counter()
        self._flush = Histogram(_FLUSH_SECONDS)
        self._ledger: DurableLedger | None = None
        registry.register(self)

    def recorded(self, units: int) -> None:
        self._recorded += units

    def unrecorded(self, units: int, reason: str) -> None:
        self._unrecorded[reason] += units

    def audited(self, head: str, units: int) -> None:
        self._audited[head] += units

    def flushed(self, seconds: float) -> None:
        self._flush.observe(seconds)

    def failed(self, reason: str) -> None:
        self._errors[reason] += 1

    def watch(self, ledger: DurableLedger) -> None:
        """Export gauges of a ledger at each scrape."""
        self._ledger = ledger

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families."""
        task = (self._task,)
        recorded = CounterMetricFamily("demur_ledger_recorded_units", "Units made durable.", labels=("task",))
        recorded.add_metric(task, self._recorded)
        yield recorded
        for name, text, label, counts in (
            ("demur_ledger_unrecorded_units", "Units answered with recorded = false.", "reason", self._unrecorded),
            ("demur_ledger_errors", "Failed attempts to open or write the ledger.", "reason", self._errors),
            ("demur_audited_units", "Answered units drawn for a label request.", "head", self._audited),
        ):
            family = CounterMetricFamily(name, text, labels=("task", label))
            for value, count in list(counts.items()):
                family.add_metric((*task, value), count)
            yield family
        flush = HistogramMetricFamily("demur_ledger_flush_seconds", "Duration of flushes.", labels=("task",))
        self._flush.export(flush, task)
        yield flush
        if (ledger := self._ledger) is not None:
            yield self._gauge("demur_ledger_up", "1 while the ledger can be written.", ledger.writer.up)
            yield self._gauge("demur_ledger_journal_bytes", "Answers on their way to segments.", ledger.journal_bytes)
            yield self._gauge(
                "demur_explored_held_units", "ExplorationBuffer units that can be committed.", ledger.explored.units
            )
            yield self._gauge("demur_explored_held_bytes", "Memory of explored units.", ledger.explored.nbytes)

    def _gauge(self, name: str, text: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=("task",))
        family.add_metric((self._task,), value)
        return family
