"""The guide for operators names what exists: commands, options, settings, alerts, metrics, files."""

from __future__ import annotations

import argparse
import importlib
import re
from dataclasses import fields
from pathlib import Path

import pytest

from services.cli import COMMANDS
from services.runtime.settings import Settings
from tests.deploy.places import FOLDER, alerts
from tests.deploy.promql import parses
from tests.deploy.test_observability import check_known

GUIDE = FOLDER.parent / "operations.md"
TEXT = GUIDE.read_text()
QUERIES = [line for block in re.findall(r"```promql\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
READ_ELSEWHERE = {"DEMUR_ARTEFACTS"}
"""Variables that are no settings."""


def test_queries_are_good_ones(series: dict[str, set[str]], tmp_path: Path) -> None:
    assert len(QUERIES) >= 6
    parses(QUERIES, tmp_path)
    for query in QUERIES:
        check_known(query, series)


def test_alerts_and_settings_exist() -> None:
    assert set(re.findall(r"\bDemur[A-Z]\w+", TEXT)) <= set(alerts())
    assert (
        set(re.findall(r"\bDEMUR_\w+", TEXT))
        <= {f"DEMUR_{one.name.upper()}" for one in fields(Settings)} | READ_ELSEWHERE
    )


def test_commands_and_their_options_exist() -> None:
    found = re.findall(r"demur (ledger|policy|monitor|models|evaluate) (\w[\w-]*)((?: [^`\n]*)?)", TEXT)
    assert len(found) > 12
    for command, action, rest in found:
        parser = argparse.ArgumentParser()
        assert command in COMMANDS
        importlib.import_module(f"services.cli.{command}").arguments(parser)
        (actions,) = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
        assert action in actions.choices, f"demur {command} {action}"
        known = actions.choices[action]._option_string_actions
        assert set(re.findall(r"--[a-z-]+", rest)) <= set(known), f"demur {command} {action}{rest}"


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)", TEXT))
def test_links_lead_somewhere(link: str) -> None:
    assert (GUIDE.parent / link).exists()
