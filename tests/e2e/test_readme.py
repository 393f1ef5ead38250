"""The examples of README and docs/tour.md, run as they stand against a running service; the printed output is true."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.conftest import PROJECT, Installation, monitoring, serving

RUN = os.environ | {"PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'clients' / 'python'}"}
PAGES = (PROJECT / "README.md").read_text() + (PROJECT / "docs" / "tour.md").read_text()


def block(mark: str) -> tuple[str, str]:
    """Return the code block after a mark, and the block of output that follows it."""
    match = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```\n\n```\w*\n(.*?)```", PAGES, re.DOTALL)
    assert match, f"no page has an example marked {mark} with its output"
    return match[1], match[2]


def test_curl_example(served: Installation) -> None:
    code, output = block("curl")
    ran = subprocess.run(
        ["sh", "-c", code.replace("http://127.0.0.1:3005", served.http)], capture_output=True, text=True, check=True
    )
    shown, actual = json.loads(output), json.loads(ran.stdout)
    assert shown.keys() == actual.keys()
    assert shown["power"].keys() == actual["power"].keys()
    assert (shown["model"], shown["profile"]) == (actual["model"], actual["profile"])
    for field in ("mean", "variance", "total", "data", "knowledge", "uncertainty"):
        np.testing.assert_allclose(actual["power"][field], shown["power"][field], rtol=1e-3)
    assert actual["power"]["decision"] == shown["power"]["decision"]
    assert actual["shifted_inputs"] == shown["shifted_inputs"]


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
    for expected, actual in zip(shown, ran.stdout.splitlines(), strict=False):
        assert len(expected.split()) == len(actual.split()), actual
        for word, other in zip(expected.split(), actual.split(), strict=True):
            try:  # another processor rounds the last digits otherwise
                assert float(other) == pytest.approx(float(word), rel=1e-2)
            except ValueError:
                assert other == word
    assert "Answering the most certain" in (tmp_path / "report" / "report.html").read_text()


def test_live_example(installations: Callable[[], Installation], tmp_path: Path) -> None:
    """Audits are drawn anew each time: what is shown is one run, whose truth and form hold in every one. Nobody else
    has asked this service: what it answered before would be judged, too."""
    fresh = installations()
    code, output = block("live")
    policy, live = (line.replace(".venv/bin/", "").split()[1:] for line in code.splitlines())
    data = fresh.run("data", "vessel", "simulate", "--scale", "0.05", "--out", str(tmp_path / "data" / "vessel"))
    assert data.returncode == 0, data.stderr
    where = ["--target", fresh.grpc, "--monitor", fresh.monitor]
    program = [sys.executable, str(PROJECT / live[0]), *live[1:], *where]
    with serving(fresh, tmp_path / "serve.log"), monitoring(fresh, tmp_path / "monitor.log"):
        assert fresh.run(*policy).returncode == 0
        ran = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path, env=RUN)
    assert ran.returncode == 0, ran.stderr
    shown, actual = output.splitlines()[4:], ran.stdout.splitlines()
    assert [line.split()[0] for line in actual[2:]] == [line.split()[0] for line in shown[2:]]
    assert actual[0].split(";")[0] == shown[0].split(";")[0]
    for row, other in zip(actual[3:], shown[3:], strict=True):
        (_, live_value, low, _, high, truth), (*_, shown_truth) = row.split(), other.split()
        assert truth == shown_truth
        width = float(high) - float(low)
        assert float(low) < float(live_value) < float(high)
        assert abs(float(live_value) - float(truth)) < 1.5 * width, "five standard errors"
