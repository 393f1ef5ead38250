"""Command lines as click reads them: lists of values, abbreviations, exclusive options, and help without imports."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from models.workbench import Option
from services.cli import COMMANDS, main
from services.cli.options import Command, declared

OPTIONS = (
    Option("files", "positional", kind=Path, count="+"),
    Option("--names", "a list", count="+", default=("x",)),
    Option("--numbers", "a list without a default", kind=int, count="+"),
    Option("--pair", "two values", kind=float, count=2),
    Option("--number", "a number", kind=float, default=1.0),
    Option("--flag", "a switch", kind=None),
)


def values(*words: str) -> dict[str, Any]:
    """Parse a command line of ``OPTIONS``."""
    command = Command("toy", params=[declared(option) for option in OPTIONS])
    return command.make_context("toy", list(words)).params


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a b", {"files": (Path("a"), Path("b")), "names": ("x",), "numbers": None, "number": 1.0, "flag": False}),
        ("a --names p q --flag", {"names": ("p", "q"), "flag": True, "files": (Path("a"),)}),
        ("--names p q --names r -- a", {"names": ("r",), "files": (Path("a"),)}),
        ("--names=p a", {"names": ("p",), "files": (Path("a"),)}),
        ("a --numbers -1 2", {"numbers": (-1, 2)}),
        ("--pair 1 -2 a", {"pair": (1.0, -2.0), "files": (Path("a"),)}),
        ("--number -1e3 a", {"number": -1000.0}),
        ("--na p --fl -- a", {"names": ("p",), "flag": True}),
    ],
)
def test_values_are_read(words: str, expected: dict[str, Any]) -> None:
    assert values(*words.split()).items() >= expected.items()


@pytest.mark.parametrize(
    "words", ["", "a --names", "a --names --flag", "a --number --flag", "a --pair 1", "a --no", "a --nu 3"]
)
def test_missing_values_are_usage_errors(words: str) -> None:
    with pytest.raises(click.UsageError):
        values(*words.split())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["--version"], 0),
        (["-h"], 0),
        (["nothing"], 2),
        (["ledger"], 2),
        (["policy", "set", "vessel", "--threshold", "1", "--defer-all"], 2),
        (["tokens", "create", "a", "--scope", "label", "--days", "1", "--expires", "2099-01-01T00:00:00Z"], 2),
    ],
)
def test_exit_codes_of_usage(words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    captured = capsys.readouterr()
    assert bool(captured.err) == bool(code)


def test_help_names_every_command_and_imports_none() -> None:
    program = (
        "import sys; from services.cli import main; main(['--help'])\n"
        "print(sorted(set(sys.modules) & {'numpy', 'torch', 'rich', 'grpc', 'sqlalchemy'}))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=True)
    *text, modules = ran.stdout.splitlines()
    assert [name for name in COMMANDS if not any(line.split()[:1] == [name] for line in text)] == []
    assert modules == "[]"
