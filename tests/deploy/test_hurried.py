"""The substitution that end-to-end tests make in rules and configurations."""

import re
from pathlib import Path

import pytest
import yaml

from tests.deploy import hurried
from tests.deploy.places import FOLDER, RULES


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_only_times_and_windows_change(path: Path) -> None:
    text = path.read_text()
    before, after = yaml.safe_load(text), yaml.safe_load(hurried.rules(text))
    for group, hurried_group in zip(before["groups"], after["groups"], strict=True):
        for rule, hurried_rule in zip(group["rules"], hurried_group["rules"], strict=True):
            assert without_times(rule["expr"]) == without_times(hurried_rule["expr"])
            assert {key: rule[key] for key in rule.keys() - {"expr", "for"}} == {
                key: hurried_rule[key] for key in hurried_rule.keys() - {"expr", "for"}
            }


def test_times_are_shorter_but_long_enough_for_two_scrapes() -> None:
    assert hurried.rules("rate(x[6h]) offset 15m\nfor: 1h") == "rate(x[90s]) offset 5s\nfor: 15s"
    assert hurried.rules('rate(x[1m])\nfor: 1m\nx{window=~"1h|1d"}') == 'rate(x[5s])\nfor: 3s\nx{window="1m"}'


def test_configurations_get_other_addresses() -> None:
    text = (FOLDER / "prometheus.yml").read_text()
    made = hurried.prometheus(text, offset=500, alertmanager="c:3")
    document = yaml.safe_load(made)
    targets = [job["static_configs"][0]["targets"] for job in document["scrape_configs"]]
    assert targets == [[f"127.0.0.1:{port}" for port in range(3501, 3506)], ["127.0.0.1:3500"]]
    assert document["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] == ["c:3"]
    assert document["global"]["external_labels"] == {"runbooks": "base/"}
    assert "localhost" not in made


def without_times(expression: str) -> str:
    expression = re.sub(r"\[\w+\]|offset \w+", "", expression)
    return re.sub(r'window=~?"[^"]*"', "", expression)
