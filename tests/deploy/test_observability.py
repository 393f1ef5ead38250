"""Rules, alerts, their cases and their runbooks hang together, and ask for nothing that is not exported."""

import json
import re
from collections import defaultdict
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from models.live.invalidity import REASONS
from models.live.window_figures import FIGURES
from services.runtime.errors import (
    _STATUS,
    DeadlineExceeded,
    DeviceUnavailable,
    Draining,
    ExecutionFailed,
    LedgerUnavailable,
    NotReady,
)
from services.runtime.ports import monitor_address
from services.runtime.settings import Settings
from services.tasks import TENANTS
from tests.deploy.places import CASES, FOLDER, RULES, alerts, read, rules
from tests.deploy.promql import grouping_labels, matched_labels, metrics, parses
from tests.prometheus import run

ALERTS = alerts()
RUNBOOKS = (FOLDER / "runbooks.md").read_text()
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"^## ", RUNBOOKS, flags=re.MULTILINE)[1:]}
QUERIES = {
    name: [line for block in re.findall(r"```promql\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    for name, text in SECTIONS.items()
}


def test_promtool_and_amtool_accept_everything() -> None:
    assert "FAILED" not in run("promtool", "check", "rules", *RULES)
    run("promtool", "check", "config", FOLDER / "prometheus.yml")
    run("amtool", "check-config", FOLDER / "alertmanager.yml")


def test_what_demur_up_starts_is_scraped() -> None:
    jobs = {job["job_name"]: job["static_configs"] for job in read(FOLDER / "prometheus.yml")["scrape_configs"]}
    targets = {name: [target for config in configs for target in config["targets"]] for name, configs in jobs.items()}
    settings = [Settings.read({}, task=task) for task in TENANTS]
    assert targets["demur"] == sorted(f"localhost:{service.ports[0]}" for service in settings)
    assert targets["demur-monitor"] == [f"localhost:{monitor_address(settings[0])[1]}"]


@pytest.mark.long
@pytest.mark.parametrize(
    "cases",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem == "budgets" else []) for path in CASES],
)
def test_alerts_fire_when_they_should_and_only_then(cases: Path) -> None:
    run("promtool", "test", "rules", cases)


def test_a_case_that_is_wrong_fails(tmp_path: Path) -> None:
    cases = read(FOLDER / "tests" / "labels.yaml")
    (late,) = (case for case in cases["tests"] if case["name"] == "a request waits for three days")
    wrong = tmp_path / "wrong.yaml"
    text = json.dumps({**cases, "tests": [late]}).replace("../rules", str(FOLDER / "rules"))
    wrong.write_text(text.replace("259200+60x60", "3600+60x60"))
    with pytest.raises(AssertionError, match="DemurLabelsLate"):
        run("promtool", "test", "rules", wrong)


def test_every_alert_has_a_case_that_fires_and_one_that_does_not() -> None:
    fires: defaultdict[str, set[bool]] = defaultdict(set)
    for path in CASES:
        for case in read(path)["tests"]:
            for check in case.get("alert_rule_test", ()):
                fires[check["alertname"]].add(bool(check["exp_alerts"]))
    assert dict(fires) == {name: {True, False} for name in ALERTS}


def test_every_alert_has_its_own_case_for_staying_quiet() -> None:
    """Being quiet before it fires, or after, proves little: some case of it never fires."""
    quiet = set()
    for path in CASES:
        for case in read(path)["tests"]:
            checks = case.get("alert_rule_test", ())
            fired = {check["alertname"] for check in checks if check["exp_alerts"]}
            quiet |= {check["alertname"] for check in checks} - fired
    assert quiet == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_how_bad_what_and_where_to_read_on(name: str) -> None:
    alert = ALERTS[name]
    words = alert["annotations"]
    assert alert["labels"]["severity"] in ("page", "ticket")
    assert set(words) == {"summary", "description", "runbook_url"}
    path, _, anchor = words["runbook_url"].removeprefix("{{ $externalLabels.runbooks }}").partition("#")
    assert path == "deploy/observability/runbooks.md"
    assert anchor == name.lower(), "headings become anchors in small letters"
    kept = grouping_labels(alert["expr"]) | {label for _, label in matched_labels(alert["expr"])}
    if "head" in kept:
        assert words["summary"].startswith("{{ $labels.task }}/{{ $labels.head }}: ")
    elif "task" in kept:
        assert words["summary"].startswith("{{ $labels.task }}: ")


def test_every_name_is_given_once() -> None:
    names = [rule["alert"] for rule in rules() if "alert" in rule]
    assert len(names) == len(set(names))
    recorded = [(rule["record"], str(rule.get("labels"))) for rule in rules() if "record" in rule]
    assert len(recorded) == len(set(recorded))


def test_no_alert_rests_on_a_point_estimate() -> None:
    """Ends of intervals, counts, tests and gates; never a figure alone."""
    figures = {f"demur_live_{name}" for name in FIGURES} | {"demur_live_abstain_ratio"}
    assert {name for name, alert in ALERTS.items() if metrics(alert["expr"]) & figures} == set()


def test_every_rule_asks_for_what_is_exported(series: dict[str, set[str]]) -> None:
    labels_of_any = set().union(*series.values())
    for rule in rules():
        check_known(rule["expr"], series)
        assert grouping_labels(rule["expr"]) <= labels_of_any, rule["expr"]


def test_templates_name_labels_that_alerts_have(series: dict[str, set[str]]) -> None:
    for name, alert in ALERTS.items():
        text = " ".join(alert["annotations"].values())
        known = set().union(*(series[metric] for metric in metrics(alert["expr"])))
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= known, name
        for query in re.findall(r'printf "(.*?)"', text):
            if "{" in query:
                check_known(query.replace("'%s'", '""'), series)


def test_the_check_for_unknown_metrics_can_fail(series: dict[str, set[str]]) -> None:
    for wrong in ("demur_live_rauc_low > 1", 'demur_live_r_auc_low{windows="1d"} > 1', "task:demur_requests:rate9m"):
        with pytest.raises(AssertionError):
            check_known(wrong, series)


def check_known(expression: str, series: dict[str, set[str]]) -> None:
    """Fails where an expression selects a series or a label that nobody exports."""
    assert metrics(expression), expression
    assert metrics(expression) <= set(series), f"nobody exports {metrics(expression) - set(series)}"
    for metric, label in matched_labels(expression):
        assert label in series[metric], f"{metric} has no label {label}"


def test_what_counts_as_failed_is_what_the_table_of_errors_says() -> None:
    """Codes that are the service's fault, over both protocols; no code of a caller's mistake is among them."""
    ours = (ExecutionFailed, Draining, NotReady, DeviceUnavailable, LedgerUnavailable, DeadlineExceeded)
    texts = [match for rule in rules() for match in re.findall(r'code=~"(5[^"]*)"', rule["expr"])]
    assert len(set(texts)) == 1, "everywhere the same"
    counted = re.compile(texts[0])
    for kind, status in _STATUS.items():
        for code in (str(status.http), status.grpc):
            assert bool(counted.fullmatch(code)) == (kind in ours), f"{kind.__name__}: {code}"


def test_every_recorded_series_is_used() -> None:
    users = [rule["expr"] for rule in rules()] + [path.read_text() for path in FOLDER.glob("dashboards/*.json")]
    for rule in rules():
        if (name := rule.get("record")) is not None:
            assert sum(name in user for user in users) > 0, f"nobody reads {name}"


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    assert list(SECTIONS) == [rule["alert"] for path in ORDER for rule in path_alerts(path)]


ORDER = [FOLDER / "rules" / f"{name}.yaml" for name in ("service", "retention", "labels", "ledger", "monitor")]


def path_alerts(path: Path) -> list[dict[str, Any]]:
    return [rule for group in read(path)["groups"] for rule in group["rules"] if "alert" in rule]


@pytest.mark.parametrize("name", SECTIONS)
def test_a_runbook_is_short_and_says_what_one_needs_at_night(name: str) -> None:
    section = SECTIONS[name]
    parts = re.findall(r"^- \*\*(.*?)\*\*", section, re.MULTILINE)
    assert parts == ["Means", "Does not mean", "Look", "Do", "Over when"]
    assert f"**Means** ({ALERTS[name]['labels']['severity']})" in section
    assert len(section.splitlines()) <= 45


def test_queries_of_runbooks_are_good_ones(series: dict[str, set[str]], tmp_path: Path) -> None:
    queries = [query for group in QUERIES.values() for query in group]
    assert len(queries) > 30
    parses(queries, tmp_path)
    for query in queries:
        check_known(query, series)


def test_runbooks_name_alerts_settings_and_reasons_that_exist() -> None:
    assert set(re.findall(r"\bDemur[A-Z]\w+", RUNBOOKS)) <= set(ALERTS)
    settings = {f"DEMUR_{field.name.upper()}" for field in fields(Settings)}
    assert set(re.findall(r"\bDEMUR_\w+", RUNBOOKS + (FOLDER / "README.md").read_text())) <= settings
    explained = SECTIONS["DemurEstimateInvalid"].partition("by reason:")[2]
    assert {word for word in re.findall(r"`([a-z_]+)`", explained)} >= REASONS
