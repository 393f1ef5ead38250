"""Environments of the other servers, each of its own, from pinned requirements."""

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.processes import PROJECT

REQUIREMENTS = Path(__file__).parent / "requirements"
_DISTRIBUTION_PYTHON = "/usr/bin/python3"
_INTERPRETERS = {"triton": _DISTRIBUTION_PYTHON}
"""Interpreter of an environment, where it cannot be this one's."""
_INSTALL_SECONDS = 900.0


class LeftOut(Exception):
    """A contender cannot take part; the message says why."""


def folder(name: str, root: Path = PROJECT) -> Path:
    """Return where the environment of a contender is."""
    return root / f".venv-race-{name}"


def python_of(name: str, root: Path = PROJECT, described: Path | None = None) -> Path:
    """Return the interpreter of a contender's environment, which is made if its requirements changed.

    Args:
        described: the folder with its requirements; None: ``REQUIREMENTS``.

    Raises:
        LeftOut: the environment cannot be made.
    """
    requirements = (described or REQUIREMENTS) / f"{name}.txt"
    place, installed = folder(name, root), folder(name, root) / "installed.txt"
    if not installed.exists() or installed.read_text() != requirements.read_text():
        shutil.rmtree(place, ignore_errors=True)
        _run(name, [_INTERPRETERS.get(name, sys.executable), "-m", "venv", str(place)])
        pip = [str(place / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run(name, [*pip, "--requirement", str(requirements)])
        installed.write_text(requirements.read_text())
    return place / "bin/python"


def _run(name: str, command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[-1]
        raise LeftOut(f"its environment cannot be made: {last}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LeftOut(f"its environment cannot be made: {error}") from error
