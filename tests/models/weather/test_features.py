"""The 123 columns: their order, their units, and what their ranges refuse."""

import json
from pathlib import Path

import pytest

from models.schema import Feature, Schema
from models.tasks.weather.data.features import FEATURES, FLAGS, METADATA, NAMES, NO_SOIL

ORACLE = Path(__file__).resolve().parents[2] / "fixtures" / "weather_columns.json"
ALWAYS_THERE = {*FLAGS, "topography_bathymetry", "sun_elevation", "climate_temperature", "climate_pressure"}


def named(name: str) -> Feature:
    return FEATURES[NAMES.index(name)]


def test_columns_stand_in_the_order_of_the_official_files() -> None:
    oracle = json.loads(ORACLE.read_text())
    assert tuple(oracle["feature_columns"]) == NAMES
    assert tuple(oracle["meta_columns"]) == METADATA
    assert len(Schema(FEATURES, METADATA)) == 123


def test_every_feature_has_a_unit_a_meaning_and_a_range() -> None:
    for feature in FEATURES:
        assert feature.unit, feature.name
        assert feature.description, feature.name
        assert feature.lower < feature.upper, feature.name


def test_what_needs_no_weather_model_must_be_there_and_all_else_may_be_missing() -> None:
    assert {feature.name for feature in FEATURES if not feature.nullable} == ALWAYS_THERE


def test_the_flags_are_zero_or_one() -> None:
    assert set(FLAGS) == {f"{name}_available" for name in ("cmc", "gfs", "wrf", "gfs_soil_temperature")}
    assert named("gfs_soil_temperature").sentinels == (NO_SOIL,)


@pytest.mark.parametrize(
    "feature", [column for column in FEATURES if column.unit == "°C" and "grad" not in column.name]
)
def test_celsius_refuses_kelvin(feature: Feature) -> None:
    assert feature.upper < 100.0
    assert feature.lower > -150.0


@pytest.mark.parametrize("feature", [column for column in FEATURES if column.unit == "K"])
def test_kelvin_refuses_celsius(feature: Feature) -> None:
    if "grad" in feature.name:
        assert abs(feature.lower) < 100.0
    elif feature.name.startswith("cmc_0_0_7"):
        assert -2.0 <= feature.lower <= 0.0, "a dew point depression: nearly never negative"
    else:
        assert feature.lower > 100.0


def test_pressures_refuse_other_units_of_pressure() -> None:
    for feature in FEATURES:
        if feature.unit == "Pa":
            assert feature.lower > 1_100.0, "hPa"
        if feature.unit == "mmHg":
            assert feature.upper < 950.0, "hPa near sea level"
            assert feature.lower > 120.0, "kPa"


def test_a_share_refuses_a_percentage() -> None:
    assert named("wrf_rh2").upper < 2.0
    assert named("cmc_0_1_0_0").upper == 1.0
