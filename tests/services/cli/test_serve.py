"""``demur serve`` up to the moment at which it becomes the server."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from models import artefact
from services.cli import main
from tests.ports import free_ports

PROJECT = Path(__file__).resolve().parents[3]
REFERENCE = PROJECT / "artefacts" / "vessel" / "dnn-10"
TAG = artefact.read(REFERENCE).tag


class Became(Exception):
    """Another program, with this environment."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """Runs the command with settings; the environment of the server that it becomes."""

    def become(program: str, command: list[str], environment: dict[str, str]) -> None:
        raise Became(environment)

    monkeypatch.setattr(os, "execvpe", become)
    monkeypatch.setattr("services.cli.serve.announce", lambda *_: None)
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BENTOML_HOME", str(tmp_path / "bentoml"))  # what the command sets ends with the test
    for name, port in zip(("HTTP", "GRPC"), free_ports(2), strict=True):
        monkeypatch.setenv(f"DEMUR_{name}_PORT", str(port))

    def run(*words: str, **settings: Any) -> dict[str, str]:
        for name, value in settings.items():
            monkeypatch.setenv(name, str(value))
        with pytest.raises(Became) as became:
            main(["serve", *words])
        return became.value.environment

    return run


def test_the_task_is_given_or_set(serve: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert serve("vessel")["DEMUR_TASK"] == "vessel"
    assert serve(DEMUR_TASK="vessel")["DEMUR_MODEL"] == TAG
    assert serve("vessel", DEMUR_TASK="weather")["DEMUR_TASK"] == "vessel"
    monkeypatch.setenv("DEMUR_TASK", "wether")
    assert main(["serve"]) == 2
    monkeypatch.delenv("DEMUR_TASK")
    assert main(["serve"]) == 2


def test_a_version_that_is_pinned_is_found_in_the_folder_of_artefacts(
    serve: Callable[..., dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = artefact.copy(artefact.read(REFERENCE), tmp_path / "artefacts" / "vessel" / "any-name").directory
    manifest = artefact.read(folder).manifest  # of another version: BentoML keeps the first store of a process
    (folder / "manifest.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(manifest, seeds=(4711,))))
    pinned = artefact.read(folder).tag
    assert pinned != TAG
    assert serve("vessel", DEMUR_ARTEFACTS=tmp_path / "artefacts", DEMUR_MODEL=pinned)["DEMUR_MODEL"] == pinned
    monkeypatch.setenv("DEMUR_MODEL", "vessel-dnn-10:0000000000000000")
    assert main(["serve", "vessel"]) == 1


def test_without_an_artefact_it_ends_or_starts_as_it_is_told(
    serve: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEMUR_MODEL", "vessel-dnn-99")
    assert main(["serve", "vessel"]) == 1
    assert "the model store has no 'vessel-dnn-99'" in capsys.readouterr().err
    assert serve("vessel", DEMUR_START_WITHOUT_MODEL=1)["DEMUR_MODEL"] == "vessel-dnn-99"


def test_a_home_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a directory")
    monkeypatch.setenv("BENTOML_HOME", str(tmp_path))
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path / "file"))
    assert main(["serve", "vessel"]) == 1
    assert "a directory is needed that this user may write to" in capsys.readouterr().err
