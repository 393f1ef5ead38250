"""Prometheus metrics of access control; all labels are bounded."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from services.access.token_file import TokenFile

MOST_NAMES = 100
"""Most names of tokens with series of their own; later ones are counted together as ``other``."""


class AccessMetrics:
    """Refusals by reason, limited calls by name, and reloads of files."""

    def __init__(self, task: str, registry: CollectorRegistry) -> None:
        self._task = task
        self._refused: Counter[str] = Counter()
        self._limited: Counter[tuple[str, str]] = Counter()
        self._names: set[str] = set()
        self._failures: Counter[str] = Counter()
        self._expires: float | None = None
        self._file: TokenFile | None = None
        registry.register(self)

    def refused(self, reason: str) -> None:
        self._refused[reason] += 1

    def limited(self, name: str, limit: str) -> None:
        if len(self._names) < MOST_NAMES:
            self._names.add(name)
        self._limited[name if name in self._names else "other", limit] += 1

    def reload_failed(self, what: str) -> None:
        self._failures[what] += 1

    def certificate(self, expires: float) -> None:
        self._expires = expires
        self._failures.setdefault("tls", 0)

    def watch(self, file: TokenFile) -> None:
        """Export the number of tokens."""
        self._file = file
        self._failures.setdefault("tokens", 0)

    def collect(self) -> Iterator[Metric]:
        """Yield all metric families."""
        refused = CounterMetricFamily("demur_access_refused", "Calls without a right.", labels=("task", "reason"))
        for reason, count in sorted(self._refused.items()):
            refused.add_metric((self._task, reason), count)
        yield refused
        limited = CounterMetricFamily(
            "demur_access_limited", "Calls beyond the rate of a token's name.", labels=("task", "name", "limit")
        )
        for (name, limit), count in sorted(self._limited.items()):
            limited.add_metric((self._task, name, limit), count)
        yield limited
        failures = CounterMetricFamily(
            "demur_access_reload_failures", "Looks at a file that could not be taken.", labels=("task", "file")
        )
        for what, count in sorted(self._failures.items()):
            failures.add_metric((self._task, what), count)
        yield failures
        if self._file is not None:
            yield self._gauge("demur_access_tokens", "Tokens in force.", len(self._file.tokens.by_id))
        if self._expires is not None:
            yield self._gauge(
                "demur_tls_certificate_expiry_timestamp_seconds",
                "When the certificate in force expires, seconds since 1970.",
                self._expires,
            )

    def _gauge(self, name: str, text: str, value: float) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=("task",))
        family.add_metric((self._task,), value)
        return family
