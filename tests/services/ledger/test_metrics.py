"""What a ledger exports is what became of its units, in a form that Prometheus' own checker accepts."""

from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from services.ledger.metrics import LedgerMetrics
from tests.prometheus import check_metrics
from tests.services.ledger.recording import recording


async def exported(tmp_path: Path) -> bytes:
    registry = CollectorRegistry()
    metrics = LedgerMetrics("toy", registry)
    async with recording(f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path) as recorder:
        metrics.watch(recorder.ledger)
        await recorder.decide([0.1], purpose="explore")
        metrics.recorded(3)
        metrics.unrecorded(2, "late")
        metrics.audited("power", 1)
        metrics.flushed(0.003)
        metrics.failed("storage_full")
        return generate_latest(registry)


async def test_units_flushes_and_failures_are_counted(tmp_path: Path) -> None:
    text = (await exported(tmp_path)).decode()
    for line in (
        'demur_ledger_recorded_units_total{task="toy"} 3.0',
        'demur_ledger_unrecorded_units_total{reason="late",task="toy"} 2.0',
        'demur_ledger_errors_total{reason="storage_full",task="toy"} 1.0',
        'demur_audited_units_total{head="power",task="toy"} 1.0',
        'demur_ledger_flush_seconds_bucket{le="0.005",task="toy"} 1.0',
        'demur_ledger_up{task="toy"} 1.0',
        'demur_explored_held_units{task="toy"} 1.0',
    ):
        assert line in text, line
    assert 'demur_ledger_journal_bytes{task="toy"}' in text


async def test_the_checker_of_prometheus_finds_nothing(tmp_path: Path) -> None:
    check_metrics((await exported(tmp_path)).decode())
