"""`--no-replay-set`: an artefact that holds none of the data that it was calibrated with."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from models import artefact
from services.cli import main

PROJECT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("home")]


def test_training_leaves_the_set_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    assert main(["data", "vessel", "simulate", "--scale", "0.002", "--out", str(data)]) == 0
    trained = ["train", "vessel", "--family", "symbolic", "--members", "2", "--data", str(data), "--out", str(out)]
    capsys.readouterr()
    assert main([*trained, "--no-replay-set", "--json"]) == 0
    model = artefact.read(out)
    assert model.manifest.heads["power"]
    assert model.manifest.replay is None
    assert not list(out.glob("replay*"))
    assert json.loads(capsys.readouterr().out)["tag"] == model.tag


def made_folders(home: Path) -> list[Path]:
    """Of all artefacts below a home directory."""
    return [path.parent for path in home.rglob(artefact.MANIFEST)]


def test_an_import_leaves_the_set_out_and_the_folder_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "dnn-1"
    source = artefact.copy(artefact.read(PROJECT / "artefacts" / "vessel" / "dnn-1"), folder)
    before = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    command = [sys.executable, "-m", "services.cli", "models", "import", "vessel", str(folder), "--no-replay-set"]
    imported = subprocess.run([*command, "--json"], cwd=PROJECT, capture_output=True, text=True)
    assert imported.returncode == 0, imported.stderr
    tag = json.loads(imported.stdout)["tag"]
    (stored,) = (model for model in map(artefact.read, made_folders(tmp_path / "home")) if model.tag == tag)
    assert source.manifest.replay is not None
    assert stored.manifest.replay is None
    assert not (stored.directory / source.manifest.replay.inputs).exists()
    assert before == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
