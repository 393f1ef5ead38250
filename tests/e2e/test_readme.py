"""The README's examples, run as they stand, against a running service; their printed output is true."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np

from tests.e2e.conftest import PROJECT, Installation

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
