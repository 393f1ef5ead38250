"""Tests of whole services on the device: the command line, both protocols, hostile input, real data."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.gpu.parts import MOST_SECONDS, Setting

ROOT = Path(__file__).resolve().parents[2]
FULL = (
    "tests/e2e/test_weather.py",
    "tests/e2e/test_motion.py",
    "tests/e2e/test_lesion.py",
    "tests/e2e/test_translation.py",
    "tests/e2e/test_bad_input.py",
    "tests/e2e/test_real_rows.py",
    "tests/contract",
)
"""Those that start services take the provider from the environment."""
QUICK = ("tests/e2e/test_real_rows.py",)
_SUMMARY = re.compile(r"(\d+) (passed|failed|skipped|error|errors)")


def run(setting: Setting) -> dict[str, Any]:
    """Return counts of passed, failed and skipped tests, and the names of those that failed."""
    tests = QUICK if setting.quick else FULL
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow and not statistical",
        *tests,
    ]
    environment = os.environ | {"DEMUR_PROVIDER": setting.device.provider, "DEMUR_QUALIFY": "auto"}
    environment.pop("DEMUR_TASK", None)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=MOST_SECONDS - 20
    )
    lines = done.stdout.strip().splitlines()
    counts = {word.rstrip("s") if word == "errors" else word: int(count) for count, word in _SUMMARY.findall(lines[-1])}
    failed = [line.partition(" ")[2] for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {"tests": list(tests), "counts": counts, "failed": failed}
