"""Which artefact is served: reference artefacts go into the store with what they share."""

import subprocess
import sys
from pathlib import Path

import pytest

from models import artefact, replay
from services.app import reference

PROJECT = Path(__file__).resolve().parents[3]
FIND = """
import sys
from dataclasses import replace
from pathlib import Path
from services.app.reference import find
from services.runtime.settings import Settings
from services.app.model_store import Store

settings = replace(Settings.read({"DEMUR_TASK": "vessel"}), model="vessel-symbolic-1")
print(find(settings, Store(Path(sys.argv[1]))).directory)
"""
NAMES = ("dnn-1", "symbolic-1")


@pytest.fixture
def artefacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as DEMUR_ARTEFACTS, of two artefacts that share the inputs of their replay sets."""
    root = tmp_path / "artefacts" / "vessel"
    for name in NAMES:
        artefact.share(artefact.copy(artefact.read(PROJECT / "artefacts" / "vessel" / name), root / name))
    monkeypatch.setenv("DEMUR_ARTEFACTS", str(root.parent))
    return root


def test_folders_are_artefacts_and_what_they_share_is_none(artefacts: Path) -> None:
    assert len(list(artefacts.glob("replay-*.npz"))) == 1
    assert reference.folders("vessel") == [artefacts / name for name in NAMES]


@pytest.mark.long
def test_the_store_holds_all_that_an_artefact_needs(artefacts: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FIND, str(tmp_path / "home")]  # BentoML keeps the first store of a process
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    (shared,) = artefacts.glob("replay-*.npz")
    shared.unlink()
    stored = artefact.read(Path(ran.stdout.strip()))
    assert stored.manifest.replay is not None
    assert stored.path(stored.manifest.replay.inputs).parent == stored.directory
    assert replay.replayer(stored).units == stored.manifest.replay.units
    again = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=100, check=False)
    assert again.returncode == 1
    assert "the inputs of its replay set" in again.stderr
