"""From a shift in the inputs to somebody who is paged: real service, ledger, monitor, Prometheus and Alertmanager.

Rules and configurations are the shipped ones, hurried by ``tests.deploy.hurried``.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.hurried import WINDOW
from tests.deploy.places import DASHBOARDS
from tests.deploy.promql import VARIABLES
from tests.deploy.ships import Crew, Ships, working
from tests.deploy.test_dashboards import expressions
from tests.deploy.watchers import Pager, Prometheus, wait_until, watchers
from tests.e2e.conftest import Installation
from tests.ports import free_offset

RETENTION = {"DemurAbstainHigh", "DemurAbstainLow", "DemurRetentionWorse", "DemurRiskAlarm"}
CHOSEN = {"$task": "vessel", "$head": "power", "$model": ".*", "$window": WINDOW, "$source": "requested"}
MAY_BE_EMPTY = (
    *("demur_ledger_unrecorded_units_total", "demur_ledger_errors_total", "demur_monitor_errors_total"),
    *("demur_access_", "demur_tls_", "demur_trace_", "demur_device_failures_total", "demur_device_probes_total"),
    *("ALERTS", 'code=~"429', "demur_live_invalid", "demur_explored_units_total", "== 0) or vector"),
    "demur_qualification_done_ratio",
)
"""What has no series while nothing is wrong, nobody explores, the numeric profile is the artefact's own, and there are
neither tokens, certificates nor traces.
"""


@dataclass(frozen=True)
class Scene:
    """What runs, and who watches it."""

    installation: Installation
    prometheus: Prometheus
    pager: Pager

    @property
    def http(self) -> str:
        return self.installation.http

    def abstained(self) -> float | None:
        return self.prometheus.value("task_head:demur_abstain:ratio1h")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """An installation of its own with nobody asking anything yet; a busy machine makes no gaps."""
    home, watching = tmp_path / "home", tmp_path / "watching"
    home.mkdir()
    watching.mkdir()
    offset = free_offset()
    environment = {"DEMUR_AUDIT_RATE": "0.1", "DEMUR_MONITOR_WINDOWS": WINDOW, "DEMUR_LEDGER_DEADLINE_SECONDS": "10"}
    installation = Installation(home, offset)
    started = installation.run("up", "--detach", **environment)
    assert started.returncode == 0, started.stdout + started.stderr
    try:
        with watchers(watching, offset) as (prometheus, pager):
            yield Scene(installation, prometheus, pager)
    finally:
        installation.run("down")


@pytest.mark.slow
def test_a_shift_pages_and_ordinary_traffic_does_not(scene: Scene) -> None:
    """Within a minute, so that it can run anywhere: by what is deferred, for which no label is needed."""
    offset = scene.installation.offset
    expected = {f"127.0.0.1:{port + offset}" for port in range(3000, 3006)}
    wait_until(lambda: scene.prometheus.up() == expected, 60, "not every service and the monitor is scraped")
    ships = Ships(scene.http)
    with working(ships):
        wait_until(lambda: (scene.prometheus.value("task_head:demur_units:increase1h") or 0) > 6000, 60, "no traffic")
        quiet_seconds = 8.0
        time.sleep(quiet_seconds)
        assert scene.pager.fired() == {}, scene.pager.fired()
        assert scene.abstained() == pytest.approx(0.05, abs=0.02)
        ships.split = "eval_out"
        wait_until(lambda: "DemurAbstainHigh" in scene.pager.fired(), 60, f"nobody was paged: {scene.abstained()}")
    page = scene.pager.fired()["DemurAbstainHigh"]
    assert page["labels"] == {"alertname": "DemurAbstainHigh", "severity": "page", "task": "vessel", "head": "power"}
    assert page["annotations"]["runbook_url"] == "base/deploy/observability/runbooks.md#demurabstainhigh"
    assert "up to 7.5% would be normal" in page["annotations"]["description"]
    assert set(scene.pager.fired()) & RETENTION == {"DemurAbstainHigh"}
    assert scene.prometheus.problems() == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_labels_tell_of_a_shift_and_of_ordinary_traffic_nothing(scene: Scene) -> None:
    """The same with people who label, two minutes without a shift and up to four with it. Every dashboard lives. When
    all is stopped, that is told, too."""
    ships, crew = Ships(scene.http), Crew(scene.http)
    with working(ships, crew):
        valid = f'demur_live_valid{{window="{WINDOW}"}} == 1'
        wait_until(lambda: bool(scene.prometheus.ask(valid)), 120, "no valid figures")
        quiet_until = time.monotonic() + 120
        while time.monotonic() < quiet_until:
            assert scene.pager.fired() == {}, scene.pager.fired()
            assert "DemurDriftAlarm" not in scene.pager.fired("tickets")
            time.sleep(1)
        assert empty_expressions(scene.prometheus) == []
        ships.split = "eval_out"
        expected = {"DemurAbstainHigh", "DemurRetentionWorse", "DemurDriftAlarm"}
        wait_until(lambda: expected <= heard(scene), 240, f"not all of {expected} were heard")
    assert set(scene.pager.fired()) <= RETENTION
    assert "kW²" in scene.pager.fired()["DemurRetentionWorse"]["annotations"]["description"]
    assert scene.prometheus.problems() == []
    scene.installation.run("down")
    expected = {"DemurTargetDown", "DemurMonitorDown"}
    wait_until(lambda: expected <= set(scene.pager.fired()), 60, "nobody heard that everything is down")


def heard(scene: Scene) -> set[str]:
    """Pages and tickets so far."""
    return set(scene.pager.fired()) | set(scene.pager.fired("tickets"))


def empty_expressions(prometheus: Prometheus) -> list[str]:
    """Expressions of dashboards that find nothing, though they should."""
    empty = []
    for path in DASHBOARDS:
        for expression in expressions(json.loads(path.read_text())):
            query = expression.replace('model="$model"', 'model=~".*"')
            for variable, value in (CHOSEN | VARIABLES).items():
                query = query.replace(variable, value)
            if not prometheus.ask(query) and not any(word in query for word in MAY_BE_EMPTY):
                empty.append(query)
    return empty
