"""Tokens of a test, and certificates that are made once."""

from pathlib import Path

import pytest

from tests.contract.conftest import protocol, toy  # noqa: F401 (fixtures)
from tests.services.access.authority import Authority
from tests.services.access.passes import Passes


@pytest.fixture
def passes(tmp_path: Path) -> Passes:
    return Passes(tmp_path / "secrets" / "tokens.toml")


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority("ours")


@pytest.fixture(scope="session")
def stranger() -> Authority:
    return Authority("another")
