"""``demur new``: the written package is complete, and nothing is left of one that cannot be written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from services.cli import main
from services.cli.new import task
from services.runtime.registry import TASKS
from tests.distributions import PROJECT, declared, install, python

LONG_NAME = "a" + 7 * "_bcd" + "_ef"
pytest.importorskip("grpc_tools", reason="stubs need grpcio-tools")


def test_files_and_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "task", "tail_lift", "--into", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    folder = tmp_path / "tail_lift"
    assert (document["folder"], document["stubs"]) == (str(folder), True)
    assert document["port"] not in {entry.port for entry in TASKS.values()}
    assert f"port={document['port']}" in (folder / "tail_lift" / "entry.py").read_text()
    assert document["next"][0] == f"cd {folder}"
    name, points = declared(folder / "pyproject.toml")
    assert (name, points) == ("demur-tail-lift", {"demur.tasks": {"tail_lift": "tail_lift.entry:ENTRY"}})
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    package = {f"tail_lift/tail_lift_pb2{end}" for end in (".py", ".pyi", "_grpc.py")}
    assert written == package | {place.format(name="tail_lift") for place in task.PLACES.values()}
    assert [path for path in tmp_path.iterdir() if path != folder] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vessel", "must be a new name; the tasks"),
        ("Lift", "small letters, digits and single underscores"),
        ("lift-tail", "small letters, digits and single underscores"),
        ("../lift", "small letters, digits and single underscores"),
        ("a" * 33, "at most 32 characters"),
        ("class", "must not be a keyword of Python"),
        ("match", "must not be a keyword of Python"),
        ("json", "must not be the name of a module"),
        ("services", "must not be the name of a module"),
        ("numpy", "must not be the name of a module"),
        ("here", "must not exist; choose another NAME or --into"),
    ],
)
def test_names_that_cannot_be_used(name: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "here").mkdir()
    assert main(["new", "task", name, "--into", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "task", "tail_lift", "--into", str(tmp_path / "no")]) == 2
    assert "must be a folder that exists" in capsys.readouterr().err


def test_half_a_package_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = dict(task.PLACES) | {"missing.py": "missing.py"}
    monkeypatch.setattr(task, "PLACES", places)
    with pytest.raises(Exception, match=r"missing\.py\.jinja"):
        task.write(tmp_path / "tail_lift", "tail_lift", 3020)
    assert list(tmp_path.iterdir()) == []


def test_without_the_generator_the_steps_have_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "grpc_tools", None)
        assert main(["new", "task", "tail_lift", "--into", str(tmp_path)]) == 0
        assert "  demur new stubs tail_lift/tail_lift.proto\n" in capsys.readouterr().out
        proto = tmp_path / "tail_lift" / "tail_lift" / "tail_lift.proto"
        assert main(["new", "stubs", str(proto)]) == 1
        assert "install it with: pip install 'grpcio-tools" in capsys.readouterr().err
    assert main(["new", "stubs", str(proto)]) == 0
    assert proto.with_name("tail_lift_pb2.py").exists()


def test_a_file_that_the_compiler_refuses(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    proto = tmp_path / "lift" / "lift.proto"
    proto.parent.mkdir()
    proto.write_text('syntax = "proto3";\nmessage {')
    assert main(["new", "stubs", str(proto)]) == 1
    assert "the protobuf compiler refuses it" in capfd.readouterr().err
    assert main(["new", "stubs", str(proto.parent)]) == 2


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["ab", pytest.param(LONG_NAME, marks=pytest.mark.slow)])
def test_the_package_passes_its_own_checks_unchanged(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="training needs the train extra")
    assert main(["new", "task", name, "--into", str(tmp_path)]) == 0
    folder = tmp_path / name
    install(tmp_path / "installed", *declared(PROJECT / "pyproject.toml"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return python(list(arguments), tmp_path / "installed", cwd=folder)

    for command in (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("mypy", "--strict")):
        ran = run("-m", *command)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    ran = run("-m", f"{name}.train", "artefact")
    assert ran.stdout.startswith(f"{name}-linear-3:"), ran.stderr
    ran = run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout
    assert "skipped" not in ran.stdout
