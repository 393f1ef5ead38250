"""Where real scenes are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def real_scene() -> Path:
    """A scene of the Shifts data set; it is not part of the repository."""
    data = Path(os.environ.get("DEMUR_TEST_DATA", PROJECT.parent / "shared" / "data"))
    path = data / "motion" / "shifts_test_scene.pb"
    if not path.exists():
        pytest.skip(f"no real scene at {path}; set DEMUR_TEST_DATA")
    return path
