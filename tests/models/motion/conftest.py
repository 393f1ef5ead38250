"""Where real scenes are."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_scene(test_data: Path) -> Path:
    """A scene of the Shifts data set; it is not part of the repository."""
    path = test_data / "motion" / "shifts_test_scene.pb"
    if not path.exists():
        pytest.skip(f"no real scene at {path}")
    return path
