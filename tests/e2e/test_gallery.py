"""The examples of docs/gallery.md: built, served, scored and judged; deferral pays as the page says."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import PROJECT, Installation, started, until_ready

pytestmark = pytest.mark.long
PAGE = (PROJECT / "docs" / "gallery.md").read_text()
NAMES = ("diabetes", "tumours", "wines")


def shown(row: str) -> dict[str, float]:
    """Return the first number of a row of the page's table, by example; shares as fractions."""
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {row}"))
    cells = [cell.strip() for cell in line.strip("|").split("|")[1:]]
    numbers = {}
    for name, cell in zip(NAMES, cells, strict=True):
        match = re.search(r"([\d,]+\.?\d*)( %)?", cell)
        assert match, cell
        numbers[name] = float(match[1].replace(",", "")) / (100 if match[2] else 1)
    return numbers


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])])
def test_an_example_pays_as_the_page_says(name: str, installations: Callable[[], Installation], tmp_path: Path) -> None:
    installation = installations()
    paths = {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'clients' / 'python'}"}
    made = subprocess.run(
        [sys.executable, str(PROJECT / "examples" / "gallery.py"), name, "--out", str(tmp_path)],
        env=installation.environment(**paths),
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    scored = str(tmp_path / "scored.csv")
    with started(installation, tmp_path / "log", "serve", name) as process:
        until_ready(f"http://127.0.0.1:{3021 + installation.offset}", process, tmp_path / "log")
        done = installation.run("score", name, str(tmp_path / f"{name}.csv"), scored, "--json")
        assert done.returncode == 0, done.stderr
    judged = installation.run("evaluate", "--task", name, "--predictions", scored, "--at", "0.8", "--json")
    assert judged.returncode == 0, judged.stderr
    document = json.loads(judged.stdout)
    assert document["error"] == pytest.approx(shown("error of all held-out rows")[name], rel=0.02)
    assert document["prr"] == pytest.approx(shown("share of the gap")[name], abs=0.05)
    (point,) = document["at"]
    assert point["answered_error"] == pytest.approx(shown("of the most certain 80 %")[name], rel=0.1)
    assert point["answered_error"] < document["error"]
