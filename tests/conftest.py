"""Real inputs for the tests that have some."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Real inputs; they are not part of the repository."""
    path = Path(os.environ.get("DEMUR_TEST_DATA", PROJECT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set DEMUR_TEST_DATA")
    return path
