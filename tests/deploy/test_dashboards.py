"""Dashboards are whole, do not overlap, and ask for nothing that is not exported."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.places import DASHBOARDS
from tests.deploy.promql import parses, without_variables
from tests.deploy.test_observability import check_known

SCHEMA = 41
"""``schemaVersion`` of Grafana 12; newer versions migrate it when they read it."""
BUILT_IN = {"__rate_interval"}


@pytest.fixture(params=DASHBOARDS, ids=lambda path: path.stem)
def board(request: pytest.FixtureRequest) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(request.param.read_text())
    return document


def drawn(board: dict[str, Any]) -> list[dict[str, Any]]:
    """Panels that show something."""
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions(board: dict[str, Any]) -> Iterator[str]:
    """All that is asked of Prometheus, by panels, variables and annotations."""
    for panel in drawn(board):
        yield from (target["expr"] for target in panel["targets"])
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            yield f"count by ({label}) ({selector})"
    yield from (annotation["expr"] for annotation in board["annotations"]["list"])


def test_there_is_one_for_the_fleet_and_one_for_a_task() -> None:
    boards = [json.loads(path.read_text()) for path in DASHBOARDS]
    assert [board["uid"] for board in boards] == ["demur-fleet", "demur-task"]
    for board in boards:
        assert board["schemaVersion"] == SCHEMA
        assert board["title"]
        targets = {link["url"].removeprefix("/d/") for link in board["links"]}
        assert targets == {"demur-fleet", "demur-task"} - {board["uid"]}


def test_panels_have_numbers_of_their_own_and_do_not_overlap(board: dict[str, Any]) -> None:
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(numbers) == len(set(numbers))
    places = [panel["gridPos"] for panel in board["panels"]]
    for place in places:
        assert 0 <= place["x"] <= 24 - place["w"]
        assert min(place["w"], place["h"]) > 0
    for left, other in combinations(places, 2):
        beside = left["x"] + left["w"] <= other["x"] or other["x"] + other["w"] <= left["x"]
        above = left["y"] + left["h"] <= other["y"] or other["y"] + other["h"] <= left["y"]
        assert beside or above, (left, other)


def test_panels_say_what_they_show_and_in_which_unit(board: dict[str, Any]) -> None:
    titles = [panel["title"] for panel in board["panels"]]
    assert all(titles)
    assert len(titles) == len(set(titles))
    for panel in drawn(board):
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["targets"], panel["title"]
        several = len(panel["targets"]) > 1 and panel["type"] != "table"
        assert not several or all(target["legendFormat"] for target in panel["targets"]), panel["title"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(references) == len(set(references))


def test_everything_reads_the_chosen_source(board: dict[str, Any]) -> None:
    """Nothing names a data source of ours; the first variable chooses it."""
    first = board["templating"]["list"][0]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    asking = [*drawn(board), *(target for panel in drawn(board) for target in panel["targets"])]
    asking += [*board["templating"]["list"][1:], *board["annotations"]["list"]]
    assert all(part["datasource"] == chosen for part in asking)


def test_variables_are_defined_before_they_are_used(board: dict[str, Any]) -> None:
    known = set(BUILT_IN)
    for variable in board["templating"]["list"]:
        assert set(re.findall(r"\$(\w+)", str(variable["query"]))) <= known
        known.add(variable["name"])
    for expression in expressions(board):
        assert set(re.findall(r"\$(\w+)", expression)) <= known


def test_expressions_are_good_ones(board: dict[str, Any], series: dict[str, set[str]], tmp_path: Path) -> None:
    queries = [without_variables(expression) for expression in expressions(board)]
    assert len(queries) > 40
    parses(queries, tmp_path)
    for expression in queries:
        check_known(expression, series)


def test_legends_name_labels_that_are_there(board: dict[str, Any]) -> None:
    for panel in drawn(board):
        for target in panel["targets"]:
            labels = set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))
            kept = re.search(r"\bby \(([^)]*)\)", target["expr"])
            if kept is not None:
                assert labels <= {label.strip() for label in kept[1].split(",")} | {"quantile"}, target["expr"]


def test_overrides_match_something(board: dict[str, Any]) -> None:
    """A style for a name that no series has is forgotten rather than meant."""
    for panel in drawn(board):
        names = {target.get("legendFormat") for target in panel["targets"]}
        for step in panel.get("transformations", ()):
            names |= set(step["options"].get("renameByName", {}).values())
        if panel["type"] == "trend":
            names |= {"live", "low", "high", "random", "optimal", panel["options"]["xField"]}
        for override in panel["fieldConfig"]["overrides"]:
            if override["matcher"]["id"] == "byName":
                assert override["matcher"]["options"] in names, panel["title"]


def test_the_dashboard_of_a_task_shows_every_live_figure() -> None:
    text = " ".join(expressions(json.loads(next(p for p in DASHBOARDS if p.stem == "task").read_text())))
    figures = ("curve", "r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error", "valid")
    assert all(re.search(rf"\bdemur_live_{name}\{{", text) for name in figures)
    for name in ("r_auc", "f1_auc", "f1_at_95", "error", "answered_error", "mean_error", "system_error"):
        assert f"demur_live_{name}_low{{" in text, "a figure is shown with its interval"
        assert f"demur_live_{name}_high{{" in text


def test_every_exported_metric_can_be_seen_somewhere(series: dict[str, set[str]]) -> None:
    """What nobody looks at need not be exported."""
    folder = DASHBOARDS[0].parents[1]
    texts = [path.read_text() for path in (*folder.glob("rules/*.yaml"), *folder.glob("dashboards/*.json"))]
    families = {re.sub(r"_(bucket|sum|count|created)$", "", name) for name in series if name.startswith("demur_")}
    shown = {name: re.compile(rf"\b{name}(_bucket|_sum|_count)?\b") for name in families}
    assert {name for name, words in shown.items() if not any(words.search(text) for text in texts)} == set()
