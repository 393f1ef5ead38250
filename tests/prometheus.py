"""Runs Prometheus' own programs; a test is skipped where one of them is not installed."""

import shutil
import subprocess
from typing import Any

import pytest


def need(*programs: str) -> None:
    """Skip the test, saying so, unless each of the programs is on the path."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on the path: apt-get install prometheus prometheus-alertmanager")


def run(program: str, *words: object, **options: Any) -> str:
    """Run a program and return its output and errors as text; skip the test where it is not installed.

    Raises:
        AssertionError: it failed; with what it printed.
    """
    need(program)
    done = subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, timeout=240, check=False, **options
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    return printed


def check_metrics(text: str) -> None:
    """Have ``promtool check metrics`` read metrics in the text format.

    Raises:
        AssertionError: it failed or printed a warning.
    """
    assert run("promtool", "check", "metrics", input=text) == ""
