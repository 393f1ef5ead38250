"""What the real exporters export: the collectors of service, ledger and monitor, each given something of everything."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from models.profile import Profile
from services.access.metrics import AccessMetrics
from services.ledger.metrics import LedgerMetrics
from services.monitor.exporter import Exporter
from services.policy.decision import Decision
from services.qualification.metrics import QualificationMetrics
from services.qualification.standing import Standing
from services.qualification.tables import Tables
from services.request.metrics import Metrics
from services.request.schedule import Limits
from services.tracing.factory import TraceMetrics
from tests.services.monitor.simulated import Book, simulate
from tests.services.monitor.watching import Watch

SCRAPED = {"job", "instance"}
"""Labels that Prometheus adds to all that it reads."""
OWN = {"up": SCRAPED, "ALERTS": SCRAPED | {"alertname", "alertstate", "severity", "task", "head", "window", "reason"}}
"""Series that Prometheus makes itself."""


def exported(folder: Path) -> dict[str, set[str]]:
    """Name of each series to its labels; ``folder`` is for a ledger."""
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for text in (service_text(), monitor_text(folder)):
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels[sample.name] |= set(sample.labels) | SCRAPED
    return dict(labels) | OWN


def service_text() -> str:
    """/metrics of a service that has served, failed and recorded."""
    registry = CollectorRegistry()
    metrics = Metrics("toy", registry)
    metrics.request("http", "200", 0.01)
    metrics.quantum(0.001, 2)
    verdict = SimpleNamespace(decisions=np.array([int(d) for d in Decision]), shifts=np.ones(3, np.uint8))
    portion: Any = SimpleNamespace(verdicts={"power": verdict}, purpose="decide")
    metrics.decided(portion)
    queue: Any = SimpleNamespace(active=1, queued_seconds=0.5, queued_bytes=100, limits=Limits())
    metrics.watch(queue)
    device: Any = SimpleNamespace(reason="EPFail", failures={"EPFail": 1}, probes={"failed": 1})
    metrics.watch_device(device)
    metrics.info("1", "toy:1", profile="toy")
    measuring = Standing(Tables(Profile(), "qualifying", {}))
    QualificationMetrics("toy", registry, lambda: measuring)
    access = AccessMetrics("toy", registry)
    access.refused("no_token")
    access.limited("router", "calls")
    access.reload_failed("tokens")
    access.certificate(2e9)
    access.watch(SimpleNamespace(tokens=SimpleNamespace(by_id={})))  # type: ignore[arg-type]
    queue: Any = SimpleNamespace(counts={"exported": 1})
    registry.register(TraceMetrics("toy", queue))
    ledger = LedgerMetrics("toy", registry)
    ledger.recorded(3)
    ledger.unrecorded(1, "deadline")
    ledger.audited("power", 1)
    ledger.flushed(0.001)
    ledger.failed("locked")
    held = SimpleNamespace(units=1, nbytes=10)
    opened: Any = SimpleNamespace(writer=SimpleNamespace(up=True), journal_bytes=1, explored=held)
    ledger.watch(opened)
    return metrics.text().decode()


def monitor_text(folder: Path) -> str:
    """/metrics of a monitor over a ledger whose figures are valid, with a baseline, drift and risk."""
    stream = simulate(5000, rate=1.0)
    book = Book(f"sqlite:///{folder / 'ledger.db'}")
    book.deploy()
    book.set_policy(float(stream.time[0]), 1, 2.0)
    first = book.decide(stream)
    book.decide(simulate(50, seed=2), purpose="explore")
    now = float(stream.time[-1]) + 1
    book.label(range(first, first + len(stream)), stream.error.tolist(), now)
    book.beat(now)
    watch = Watch(f"sqlite:///{folder / 'ledger.db'}", now=now)
    try:
        published = watch.at()
    finally:
        watch.monitor.close()
        book.engine.dispose()
    exporter = Exporter()
    exporter.publish(replace(published, errors={"corrupt": 1}))
    return exporter.text(now).decode()
