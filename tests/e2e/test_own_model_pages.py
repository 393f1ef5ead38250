"""The commands of README and docs/your-model.md about models of one's own, run as they stand."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.conftest import PROJECT, Installation, started, until_ready

pytestmark = pytest.mark.long

README, PAGE = (PROJECT / "README.md").read_text(), (PROJECT / "docs" / "your-model.md").read_text()
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def block(text: str, mark: str) -> tuple[str, str]:
    """Return the code after a mark, and the output that follows it."""
    match = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```\n\n```\w*\n(.*?)```", text, re.DOTALL)
    assert match, f"no example is marked {mark}"
    return match[1], match[2]


def without_numbers(text: str) -> str:
    """Return a text whose versions and numbers are replaced: trees may differ in the last digits between machines."""
    text = re.sub(r"houses:[0-9a-f]{16}", "houses:VERSION", text)
    return re.sub(" +", " ", NUMBER.sub("N", text))


def run(command: str, installation: Installation, folder: Path) -> str:
    words = shlex.split(command.replace("examples/", f"{PROJECT}/examples/"))
    program = [sys.executable] if words[0].endswith("python") else [sys.executable, "-m", "services.cli"]
    paths = {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'clients' / 'python'}"}
    ran = subprocess.run(
        [*program, *words[1:]],
        cwd=folder,
        env=installation.environment(**paths),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def houses(
    installations: Callable[[], Installation], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Installation, Path, str]:
    """Run the first block of the README; return where, and what was printed."""
    installation, folder = installations(), tmp_path_factory.mktemp("user")
    code, _ = block(README, "own-model")
    commands = [line for line in code.splitlines() if "pip install" not in line]  # the environment has it
    return installation, folder, "".join(run(command, installation, folder) for command in commands)


def test_a_model_is_built_as_the_readme_shows(houses: tuple[Installation, Path, str]) -> None:
    _, shown = block(README, "own-model")
    assert without_numbers(houses[2]) == without_numbers(shown)
    numbers = [[float(text) for text in NUMBER.findall(part)] for part in (houses[2], shown)]
    ranked = [part[part.index(0.95) + 1 :][:4] for part in numbers]
    np.testing.assert_allclose(ranked[0], ranked[1], rtol=0.02)


def test_one_house_is_answered_and_one_deferred_as_the_readme_shows(
    houses: tuple[Installation, Path, str], tmp_path: Path
) -> None:
    installation, _, _ = houses
    code, shown = block(README, "own-model-curl")
    curl = code.partition("\n")[2]
    url = f"http://127.0.0.1:{3021 + installation.offset}"
    with started(installation, tmp_path / "log", "serve", "houses") as process:
        until_ready(url, process, tmp_path / "log")
        ran = subprocess.run(
            ["sh", "-c", curl.replace("http://127.0.0.1:3021", url)], capture_output=True, text=True, check=True
        )
    actual: dict[str, Any] = json.loads(ran.stdout)
    expected = json.loads(shown)
    assert actual.keys() == expected.keys()
    assert actual["price"].keys() == expected["price"].keys()
    assert actual["price"]["decision"] == expected["price"]["decision"] == ["ANSWER", "DEFER"]
    np.testing.assert_allclose(actual["price"]["mean"], expected["price"]["mean"], rtol=0.02)


def test_the_draft_of_the_page_is_that_of_the_houses(houses: tuple[Installation, Path, str]) -> None:
    draft = (houses[1] / "houses.schema.toml").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert all(part.strip() in draft for part in shown.split("\n\n"))


def test_the_page_builds_from_python() -> None:
    code, output = block(PAGE, "own-build")
    paths = {"PYTHONPATH": f"{PROJECT}:{PROJECT / 'clients' / 'python'}"}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**paths, "PATH": ""}
    )
    assert ran.stdout == output, ran.stderr
