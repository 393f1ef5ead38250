"""What commands say without a service: versions, help, refusals."""

import importlib
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from models import artefact
from models.tasks.vessel.artefact.ensemble import FAMILIES
from services import __version__
from services.cli import main
from services.tasks import IMPORTERS, WORKBENCHES

PROJECT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.usefixtures("home")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"demur {__version__}\n"


def test_help_names_the_families(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--help"]) == 0
    output = capsys.readouterr().out
    assert [family for family in FAMILIES if family not in output] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lesion", "--brief", "--full"], "--full and --brief exclude each other"),
        (["vessel", "--brief"], "--brief: vessel has no such recipe"),
    ],
)
def test_recipes_that_a_task_does_not_have_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", *words, "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err


def test_a_folder_that_does_not_exist_cannot_be_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "import", "vessel", str(tmp_path / "none")]) == 1
    assert f"the folder {tmp_path / 'none'} does not exist" in capsys.readouterr().err


def test_an_artefact_of_another_task_is_not_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "artefact"
    artefact.copy(artefact.read(PROJECT / "artefacts" / "vessel" / "dnn-1"), folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"task": "weather"}))
    assert main(["models", "import", "vessel", str(folder)]) == 1
    assert "an artefact of task 'weather'" in capsys.readouterr().err


@pytest.mark.parametrize("task", WORKBENCHES)
def test_every_workbench_has_what_the_commands_ask_of_it(task: str) -> None:
    bench = importlib.import_module(WORKBENCHES[task])
    needed = ("ACTIONS", "FAMILIES", "train_artefact", *(["read_files"] if task in IMPORTERS else []))
    assert [name for name in needed if not hasattr(bench, name)] == []


def test_the_example_says_in_one_line_that_nothing_answers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # taken, but nobody listens
        target = f"127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, "examples/predict.py", target]
        ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 1
    assert f"no service answers at {target}" in ran.stderr
