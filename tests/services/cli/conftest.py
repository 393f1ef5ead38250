"""Fixtures of several modules of tests of the commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.stand_in import serving
from tests.clients.weather_service import WeatherStandIn


@pytest.fixture
def weather() -> WeatherStandIn:
    return WeatherStandIn()


@pytest.fixture
def target(weather: WeatherStandIn) -> Iterator[str]:
    """Where the stand-in of the weather service listens."""
    with serving(weather) as where:
        yield where


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Home of an installation without models in its store."""
    monkeypatch.setenv("DEMUR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BENTOML_HOME", "")  # what the store sets is undone at the end
    return tmp_path / "home"
