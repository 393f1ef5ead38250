"""The weather service beside the vessel's, as `demur up` starts both: files in, forecasts with two decisions out."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import demur
from tests.e2e.conftest import PROJECT, Installation


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, served: Installation) -> Path:
    """Splits of the simulator, a few hundred rows each."""
    folder = tmp_path_factory.mktemp("weather")
    ran = served.run("data", "weather", "simulate", "--scale", "0.0005", "--out", str(folder))
    assert ran.returncode == 0, ran.stderr
    return folder


def target(served: Installation) -> str:
    return f"127.0.0.1:{4001 + served.offset}"


def test_the_reference_artefact_serves_both_heads(served: Installation) -> None:
    with demur.connect(target(served)) as client:
        described = client.weather.describe()
    assert described.model.startswith("weather-catboost-10:")
    assert [head.name for head in described.heads] == ["temperature", "precipitation"]
    assert len(described.features) == 123
    assert [policy.mode for policy in described.policies] == ["target_retention", "target_retention"]


def test_an_official_file_is_scored(served: Installation, files: Path, tmp_path: Path) -> None:
    ran = served.run("score", "weather", str(files / "eval_in.csv"), str(tmp_path / "scored.csv"))
    assert ran.returncode == 0, ran.stderr
    with (tmp_path / "scored.csv").open() as scored, (files / "eval_in.csv").open() as source:
        rows, truth = list(csv.DictReader(scored)), list(csv.DictReader(source))
    assert len(rows) == len(truth) > 100
    errors = [
        (float(row["temperature.mean"]) - float(fact["fact_temperature"])) ** 2
        for row, fact in zip(rows, truth, strict=True)
    ]
    assert (sum(errors) / len(errors)) ** 0.5 < 2.0  # °C; its own model card says 1.5
    right = [
        int(row["precipitation.class"]) == float(fact["fact_cwsm_class"]) / 10
        for row, fact in zip(rows, truth, strict=True)
    ]
    assert sum(right) / len(right) > 0.55


OTHER_UNITS: dict[str, tuple[str, float, float]] = {
    "°C": ("degF", 1.8, 32.0),
    "K": ("degC", 1.0, -273.15),
    "mmHg": ("hPa", 1.33322387415, 0.0),
    "Pa": ("hPa", 0.01, 0.0),
    "m/s": ("km h-1", 3.6, 0.0),
    "%": ("1", 0.01, 0.0),
    "mm": ("kg m-2", 1.0, 0.0),
    "mm/h": ("kg m-2 s-1", 1 / 3600, 0.0),
    "gpm": ("m2 s-2", 9.80665, 0.0),
    "m": ("km", 1e-3, 0.0),
    "h": ("s", 3600.0, 0.0),
    "s": ("minutes", 1 / 60, 0.0),
    "degree": ("rad", np.pi / 180, 0.0),
    "kg/kg": ("g kg-1", 1e3, 0.0),
    "kg/m²": ("mm", 1.0, 0.0),
    "Pa/s": ("hPa h-1", 36.0, 0.0),
    "1/s": ("h-1", 3600.0, 0.0),
}
"""Another unit for each that the schema has, with factor and summand to it."""


def test_every_column_in_another_unit_is_answered_alike(served: Installation, files: Path) -> None:
    with (files / "eval_in.csv").open() as file:
        table = list(csv.DictReader(file))[:100]
    columns, units = {}, {}
    with demur.connect(target(served)) as client:
        described = client.weather.describe()
        plain = {
            name: np.array([float(row[name]) if row[name] else np.nan for row in table]) for name in described.names
        }
        for feature in described.features:
            unit, factor, summand = OTHER_UNITS.get(feature.unit, (feature.unit, 1.0, 0.0))
            if feature.difference:
                unit, factor, summand = "K", 1.0, 0.0
            values = plain[feature.name]
            columns[feature.name] = np.where(np.isin(values, feature.sentinels), values, values * factor + summand)
            units[feature.name] = unit
        expected = client.weather.predict(plain, purpose="explore")
        answer = client.weather.predict(columns, units=units, purpose="explore")
    assert sum(units[name] != unit for name, unit in described.units.items()) > 100
    assert answer.temperature is not None
    assert expected.temperature is not None
    np.testing.assert_allclose(answer.temperature.mean, expected.temperature.mean, atol=0.05)  # a split may be crossed
    assert np.mean(answer.temperature.mean == expected.temperature.mean) > 0.9


def test_the_example_tells_forecasts(served: Installation, files: Path) -> None:
    ran = subprocess.run(
        [
            sys.executable,
            str(PROJECT / "examples" / "forecast.py"),
            str(files / "eval_out.csv"),
            "--target",
            target(served),
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PROJECT / "clients" / "python")},
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("weather-catboost-10:")
    assert len(lines) == 10
    assert all("°C, 90 %:" in line and "cloud" in line for line in lines[2:])


def test_status_tells_both_services(served: Installation) -> None:
    ran = served.run("status")
    assert "weather" in ran.stdout
    assert "vessel" in ran.stdout
