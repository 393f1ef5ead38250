"""Metrics of the monitor, as Prometheus reads them."""

from collections import defaultdict

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from models.live.invalidity import REASONS
from models.live.window_figures import FIGURES
from services.monitor.exporter import Exporter
from services.monitor.snapshot import Snapshot
from services.request.metrics import Metrics
from tests.prometheus import check_metrics
from tests.services.monitor.conftest import Scene
from tests.services.monitor.simulated import label_asked, simulate
from tests.services.monitor.watching import Watch
from tests.work import counted

Samples = dict[str, list[tuple[dict[str, str], float]]]


def scraped(snapshot: Snapshot, now: float) -> tuple[bytes, Samples]:
    exporter = Exporter()
    exporter.publish(snapshot)
    body = exporter.text(now)
    samples: Samples = defaultdict(list)
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            samples[sample.name].append((sample.labels, sample.value))
    return body, samples


@pytest.fixture
def watch(quick_scene: Scene) -> Watch:
    """A stream of two hours, of which the last quarter has too few labels."""
    book = quick_scene.book()
    now = label_asked(book, simulate(20_000, rate=0.1, seconds=6300))
    now = label_asked(book, simulate(1000, 2, rate=0.01, start=now, seconds=900))
    book.set_policy(now, 1, 2.5)
    first = book.decide(simulate(100, 3, start=now, seconds=1.0))
    book.beat(now + 3)
    assert first == 21_000
    return quick_scene.watch(now + 3)


def test_figures_of_valid_windows_are_exported_with_their_intervals(watch: Watch) -> None:
    _, samples = scraped(watch.monitor.snapshot, watch.now)
    place = {"task": "toy", "head": "power", "model": "toy-ensemble:abc123", "window": "1d", "source": "requested"}
    window = watch.window("1d")
    assert window.valid
    for name in FIGURES:
        for suffix, end in (("", "estimate"), ("_low", "low"), ("_high", "high")):
            values = [value for labels, value in samples[f"demur_live_{name}{suffix}"] if labels == place]
            assert values == [getattr(window.figures[name], end)]
    assert dict((labels["origin"], value) for labels, value in samples["demur_live_r_auc_baseline_low"])
    kinds = {labels["kind"] for labels, _ in samples["demur_live_curve"]}
    assert kinds == {"live", "low", "high", "random", "optimal"}
    retentions = {labels["retention"] for labels, _ in samples["demur_live_curve"] if labels["window"] == "1d"}
    assert len(retentions) == 21


def test_a_window_that_is_not_valid_has_no_figures_and_says_why(watch: Watch) -> None:
    _, samples = scraped(watch.monitor.snapshot, watch.now)
    window = watch.window("15m")
    assert not window.valid
    for name in samples:
        if name.startswith(tuple(f"demur_live_{figure}" for figure in (*FIGURES, "curve"))) and "baseline" not in name:
            assert not [labels for labels, _ in samples[name] if labels["window"] == "15m"], name
    assert [value for labels, value in samples["demur_live_valid"] if labels["window"] == "15m"] == [0]
    reasons = {labels["reason"]: value for labels, value in samples["demur_live_invalid"] if labels["window"] == "15m"}
    assert reasons.keys() == REASONS
    assert {word for word, value in reasons.items() if value} == {word for word, _ in window.reasons}
    assert [value for labels, value in samples["demur_live_units"] if labels["window"] == "15m"] == [window.units]


def test_all_that_was_promised_is_exported(watch: Watch) -> None:
    _, samples = scraped(watch.monitor.snapshot, watch.now)
    names = {
        *("demur_live_r_auc_random", "demur_live_r_auc_optimal", "demur_live_f1_auc_random"),
        *("demur_live_f1_auc_optimal", "demur_live_effective_samples", "demur_live_units", "demur_live_labels"),
        *("demur_live_abstain_ratio", "demur_live_completion_ratio", "demur_label_delay_seconds_bucket"),
        *("demur_label_requests", "demur_label_oldest_request_age_seconds", "demur_labels_total"),
        *("demur_drift_psi", "demur_drift_log_wealth", "demur_drift_alarm", "demur_risk_log_wealth"),
        *("demur_risk_alarm", "demur_policy_threshold", "demur_policy_target_retention", "demur_monitor_lag_seconds"),
        *("demur_monitor_last_success_timestamp_seconds", "demur_monitor_cycle_seconds_bucket", "demur_head_info"),
    }
    assert names <= samples.keys()
    assert samples["demur_policy_threshold"] == [({"task": "toy", "head": "power"}, 2.5)]
    states = {labels["state"]: value for labels, value in samples["demur_label_requests"]}
    assert states["requested"] > 0
    assert samples["demur_label_oldest_request_age_seconds"][0][1] > 2
    assert samples["demur_monitor_lag_seconds"] == [({}, 0.0)]


def test_labels_are_bounded_and_no_id_is_among_them(watch: Watch) -> None:
    _, exported = scraped(watch.monitor.snapshot, watch.now)
    known = {"task", "head", "model", "window", "source", "retention", "kind", "reason", "state", "verdict", "le"}
    known |= {"origin", "purpose", "unit", "error_unit", "measure", "error", "version", "python"}
    assert {label for samples in exported.values() for labels, _ in samples for label in labels} <= known


def test_the_lag_grows_with_the_clock(watch: Watch) -> None:
    exporter = Exporter()
    exporter.publish(watch.monitor.snapshot)
    assert b"demur_monitor_lag_seconds 60.0" in exporter.text(watch.now + 60)


def test_promtool_has_nothing_to_complain_about(watch: Watch) -> None:
    """Neither of the monitor nor of a service."""
    metrics = Metrics("toy", CollectorRegistry())
    metrics.request("http", "200", 0.1)
    metrics.quantum(0.01, 2)
    metrics.info("1", "toy:1", profile="toy")
    empty, _ = scraped(Snapshot(), 0.0)
    for body in (scraped(watch.monitor.snapshot, watch.now)[0], empty, metrics.text()):
        check_metrics(body.decode())


def test_a_scrape_takes_a_moment_however_many_units_there_are(watch: Watch) -> None:
    """Well below 5 ms on a free core, for 21,100 units here: what grows with them was done when it was published."""
    exporter = Exporter()
    exporter.publish(watch.monitor.snapshot)
    with counted() as work:
        assert len(exporter.text(watch.now)) > 10_000
    assert work.lines < 2_000
