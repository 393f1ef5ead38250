"""Where the files under test are, and the programs that judge them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "observability"
RULES = sorted((FOLDER / "rules").glob("*.yaml"))
CASES = sorted((FOLDER / "tests").glob("*.yaml"))
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))


def read(path: Path) -> Any:
    """A YAML document."""
    return yaml.safe_load(path.read_text())


def rules() -> Iterator[dict[str, Any]]:
    """All rules, recorded and alerting."""
    for path in RULES:
        for group in read(path)["groups"]:
            yield from group["rules"]


def alerts() -> dict[str, dict[str, Any]]:
    """Alerting rules by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def run(program: str, *words: object, **options: Any) -> str:
    """What a program says; the test is skipped where it is not installed.

    Raises:
        AssertionError: it failed; with what it said.
    """
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on the path; install Prometheus and Alertmanager")
    done = subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, timeout=240, cwd=FOLDER, check=False, **options
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said
