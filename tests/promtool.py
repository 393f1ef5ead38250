"""What Prometheus' own checker says of metrics."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def complaints(metrics: bytes) -> str:
    """What ``promtool check metrics`` finds wrong with metrics in the text format, empty where nothing is.

    The test is skipped where the program is not installed.
    """
    if shutil.which("promtool") is None:
        pytest.skip("promtool checks metrics: apt-get install -y --no-install-recommends prometheus")
    ran = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, timeout=240, check=False)
    said = (ran.stdout + ran.stderr).decode(errors="replace")
    return said or f"promtool ended with {ran.returncode}" if ran.returncode else said
