"""The README's examples, run as they stand, against a running service; their printed output is true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.conftest import PROJECT, Installation

RUN = os.environ | {"PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'clients' / 'python'}"}
README = (PROJECT / "README.md").read_text()


def block(mark: str) -> tuple[str, str]:
    """The code block behind a mark, and the block of output that follows it."""
    found = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```\n\n```\w*\n(.*?)```", README, re.DOTALL)
    assert found, f"README has no example marked {mark} with its output"
    return found[1], found[2]


def test_curl_example(served: Installation) -> None:
    code, output = block("curl")
    ran = subprocess.run(
        ["sh", "-c", code.replace("http://127.0.0.1:3005", served.http)], capture_output=True, text=True, check=True
    )
    shown, given = json.loads(output), json.loads(ran.stdout)
    assert shown.keys() == given.keys()
    assert shown["power"].keys() == given["power"].keys()
    assert shown["model"] == given["model"]
    for field in ("mean", "variance", "total", "data", "knowledge", "uncertainty"):
        np.testing.assert_allclose(given["power"][field], shown["power"][field], rtol=1e-3)
    assert given["power"]["decision"] == shown["power"]["decision"]


def test_python_example(served: Installation) -> None:
    code, output = block("python")
    ran = subprocess.run(
        [sys.executable, "-c", code.replace("127.0.0.1:4005", served.grpc)], capture_output=True, text=True, check=True
    )
    assert ran.stdout == output


def test_judge_example(served: Installation, tmp_path: Path) -> None:
    code, output = block("judge")
    for line in code.splitlines():
        words = line.replace(".venv/bin/", "").replace("examples/", f"{PROJECT}/examples/").split()
        where = ["--target", served.grpc] if "judge.py" in line else []
        program = [sys.executable] if words[0] == "python" else [sys.executable, "-m", "services.cli"]
        ran = subprocess.run(
            [*program, *words[1:], *where], capture_output=True, text=True, check=False, cwd=tmp_path, env=RUN
        )
        assert ran.returncode == 0, ran.stderr
    shown = output.removesuffix("...\n").splitlines()
    for expected, given in zip(shown, ran.stdout.splitlines(), strict=False):
        assert len(expected.split()) == len(given.split()), given
        for one, other in zip(expected.split(), given.split(), strict=True):
            try:  # another processor rounds the last digits otherwise
                assert float(other) == pytest.approx(float(one), rel=1e-2)
            except ValueError:
                assert other == one
    assert "Answering the most certain" in (tmp_path / "report" / "report.html").read_text()
