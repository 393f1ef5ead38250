"""The guide for operators names what exists: commands, options, settings, alerts, metrics, files."""

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from services.cli import cli
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
        <= {f"DEMUR_{setting.name.upper()}" for setting in fields(Settings)} | READ_ELSEWHERE
    )


def test_commands_and_their_options_exist() -> None:
    commands = re.findall(r"demur (ledger|policy|monitor|models|evaluate) (\w[\w-]*)((?: [^`\n]*)?)", TEXT)
    assert len(commands) > 12
    context = click.Context(cli)
    for command, action, rest in commands:
        group = cli.get_command(context, command)
        assert isinstance(group, click.Group), f"demur {command}"
        chosen = group.get_command(context, action)
        assert chosen is not None, f"demur {command} {action}"
        known = {name for param in chosen.params for name in (*param.opts, *param.secondary_opts)}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, f"demur {command} {action}{rest}"


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)", TEXT))
def test_links_lead_somewhere(link: str) -> None:
    assert (GUIDE.parent / link).exists()
