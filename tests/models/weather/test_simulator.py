"""Simulated rows hang together: what physics and the meaning of the columns promise, of every row."""

import itertools

import numpy as np
import pytest

from models.tasks.weather.data import partition
from models.tasks.weather.data.features import FEATURES, NAMES, NO_SOIL
from models.tasks.weather.data.table import CLIMATES, Table
from simulators.weather import dataset
from simulators.weather.fields import PLACE
from simulators.weather.quantities import DRY_AIR, GRAVITY, dew_point, vapour_pressure
from simulators.weather.sun import sun
from simulators.weather.systems import forecasts, situation

Columns = dict[str, np.ndarray]


def test_every_value_is_within_the_physical_range(globe: Table) -> None:
    for feature, values in zip(FEATURES, globe.features.T, strict=True):
        there = values[~np.isnan(values) & ~np.isin(values, feature.sentinels)]
        assert len(there) > 0, feature.name
        assert there.min() >= feature.lower, feature.name
        assert there.max() <= feature.upper, feature.name
        if not feature.nullable:
            assert len(there) == len(values), feature.name


def test_no_column_is_constant_or_a_copy_of_another(globe: Table) -> None:
    seen: dict[bytes, str] = {}
    for name, values in zip(NAMES, globe.features.T, strict=True):
        assert np.nanstd(values) > 0.0, name
        key = values.tobytes()
        assert key not in seen, f"{name} is {seen.get(key)}"
        seen[key] = name


@pytest.mark.parametrize("system", ["cmc", "gfs", "wrf"])
def test_a_model_without_data_has_no_values_and_one_with_data_has_all(columns: Columns, system: str) -> None:
    there = columns[f"{system}_available"] == 1.0
    assert 0 < (~there).sum() < len(there) / 3
    for name, values in columns.items():
        if name.startswith(f"{system}_") and not name.endswith("available") and name != "gfs_soil_temperature":
            assert np.isnan(values[~there]).all(), name
            assert not np.isnan(values[there]).any(), name


def test_the_soil_temperature_is_the_sentinel_exactly_where_its_flag_is_zero(columns: Columns) -> None:
    missing = columns["gfs_soil_temperature_available"] == 0.0
    assert missing.any()
    assert (missing == (columns["gfs_soil_temperature"] == NO_SOIL)).all()
    assert missing[columns["gfs_available"] == 0.0].all()


@pytest.mark.parametrize(
    "name", [n.removesuffix("_grad") for n in NAMES if n.endswith("_grad") and f"{n[:-5]}_next" in NAMES]
)
def test_a_gradient_is_the_next_horizon_less_this_one(columns: Columns, name: str) -> None:
    step = columns[f"{name}_next"] - columns[name]
    np.testing.assert_allclose(columns[f"{name}_grad"], step, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "system"), [("cmc_0_0_0_2", "cmc"), ("gfs_temperature_sea", "gfs"), ("wrf_t2", "gfs")]
)
def test_what_is_interpolated_lies_between_both_horizons(columns: Columns, name: str, system: str) -> None:
    share = columns[f"{system}_timedelta_s"] / 10_800.0
    assert np.nanmin(share) >= 0.0
    assert np.nanmax(share) < 1.0
    expected = columns[name] + share * columns[f"{name}_grad"]
    there = ~np.isnan(expected)
    np.testing.assert_allclose(columns[f"{name}_interpolated"][there], expected[there], atol=2e-4)


def test_the_wind_speed_is_that_of_its_components(columns: Columns) -> None:
    expected = np.hypot(columns["gfs_u_wind"], columns["gfs_v_wind"])
    np.testing.assert_allclose(columns["gfs_wind_speed"], expected, rtol=1e-5)


def test_air_is_never_colder_than_its_dew_point(columns: Columns) -> None:
    there = columns["cmc_available"] == 1.0
    assert (columns["cmc_0_0_6_2"] <= columns["cmc_0_0_0_2"])[there].all()
    np.testing.assert_allclose(
        columns["cmc_0_0_7_2"][there], (columns["cmc_0_0_0_2"] - columns["cmc_0_0_6_2"])[there], atol=1e-3
    )
    for level in (1000, 925, 850, 700, 500):
        assert columns[f"cmc_0_0_7_{level}"][there].min() >= 0.0
    gfs = columns["gfs_available"] == 1.0
    assert (columns["gfs_2m_dewpoint"] <= columns["gfs_temperature_sea"])[gfs].all()
    saturated = vapour_pressure(columns["gfs_2m_dewpoint"][gfs]) / vapour_pressure(columns["gfs_temperature_sea"][gfs])
    np.testing.assert_allclose(columns["gfs_humidity"][gfs], 100.0 * saturated, rtol=1e-3)


def test_heights_follow_from_temperatures_by_the_hypsometric_equation(columns: Columns) -> None:
    there = columns["cmc_available"] == 1.0
    levels = (1000, 925, 850, 700, 500)
    for lower, upper in itertools.pairwise(levels):
        mean = 0.5 * (columns[f"cmc_0_0_0_{lower}"] + columns[f"cmc_0_0_0_{upper}"])[there]
        rise = (columns[f"cmc_0_3_5_{upper}"] - columns[f"cmc_0_3_5_{lower}"])[there]
        np.testing.assert_allclose(rise, DRY_AIR / GRAVITY * mean * np.log(lower / upper), atol=0.1)


def test_surface_pressure_falls_with_height(columns: Columns) -> None:
    """Within the relief that a model does not resolve, it is that of a standard atmosphere at the station."""
    there = columns["wrf_available"] == 1.0
    height = np.maximum(columns["topography_bathymetry"][there], 0.0)
    standard = 101_325.0 * (1.0 - 2.25577e-5 * height) ** 5.25588
    error = columns["wrf_psfc"][there] / standard - 1.0
    assert np.abs(np.median(error)) < 0.02
    assert np.quantile(np.abs(error), 0.99) < 0.08
    assert (columns["cmc_0_3_0_0"] <= columns["cmc_0_3_1_0"] + 2_000.0)[columns["cmc_available"] == 1.0].all()


def test_rain_adds_up_from_the_start_of_the_run(columns: Columns) -> None:
    step = sum(columns[f"cmc_0_1_{code}_0_grad"] for code in (65, 66, 67, 68))
    there = columns["cmc_available"] == 1.0
    np.testing.assert_allclose(columns["cmc_precipitations"][there], step[there] / 3.0, atol=2e-3)
    assert step[there].min() >= 0.0


def test_runs_are_those_of_the_models_hours(globe: Table, columns: Columns) -> None:
    for system, every in (("gfs", 6), ("cmc", 12)):
        there = columns[f"{system}_available"] == 1.0
        valid = globe.time[there] - columns[f"{system}_timedelta_s"][there]
        run = valid / 3600.0 - columns[f"{system}_horizon_h"][there]
        assert (run % every == 0).all()
        assert columns[f"{system}_horizon_h"][there].min() > 0


def test_models_know_less_the_further_ahead_they_look(world: dataset.World) -> None:
    rng = np.random.default_rng(0)
    places = world.stations.take(rng.integers(0, len(world.stations), 8000))
    seen = situation(places, world.fields, partition.BEGIN + 3600.0 * rng.integers(0, 8760, 8000), partition.BEGIN)
    for forecast in forecasts(rng, seen):
        error = (forecast.fields - seen.fields[0]).std(axis=0)
        near, far = (error[mask].mean() for mask in (forecast.horizon <= 15, forecast.horizon >= 27))
        assert far > 1.2 * near


def test_models_share_part_of_their_errors(world: dataset.World) -> None:
    rng = np.random.default_rng(0)
    places = world.stations.take(rng.integers(0, len(world.stations), 8000))
    seen = situation(places, world.fields, partition.BEGIN + 3600.0 * rng.integers(0, 8760, 8000), partition.BEGIN)
    warmth = PLACE["warmth"]
    errors = [forecast.fields[warmth] - seen.fields[0][warmth] for forecast in forecasts(rng, seen)]
    shared = np.corrcoef(errors)[np.triu_indices(3, 1)]
    assert (shared > 0.4).all()
    assert (shared < 0.95).all()


def test_stations_report_whole_degrees_or_tenths(globe: Table) -> None:
    tenths = globe.temperature.astype(np.float64) * 10.0
    np.testing.assert_allclose(tenths, np.round(tenths), atol=1e-3)
    whole = np.mean(globe.temperature == np.round(globe.temperature))
    assert 0.7 < whole < 0.85


def test_snow_falls_in_the_cold_and_rain_in_the_warm(globe: Table) -> None:
    snow, rain = np.isin(globe.precipitation, (4, 8)), np.isin(globe.precipitation, (2, 6))
    sleet = np.isin(globe.precipitation, (3, 7))
    assert globe.temperature[snow].max() < 9.0
    assert np.median(globe.temperature[snow]) < 0.0 < np.median(globe.temperature[rain])
    assert 0 < sleet.sum() < snow.sum() < rain.sum()


def test_every_class_occurs_and_dry_skies_are_most_common(globe: Table) -> None:
    shares = np.bincount(globe.precipitation, minlength=9) / len(globe)
    assert (shares[[0, 1, 2, 4, 5, 6, 7, 8]] > 0).all()
    assert shares[[0, 1, 5]].min() > shares[[2, 3, 4, 6, 7, 8]].max() * 0.5
    assert shares[[0, 1, 5]].sum() > 0.7


def test_climates_have_the_shares_of_the_paper_and_their_temperatures(world: dataset.World) -> None:
    places = world.stations
    shares = np.bincount(places.climate, minlength=5) / len(places)
    np.testing.assert_allclose(shares, (0.082, 0.136, 0.400, 0.347, 0.035), atol=0.002)
    mean = places.annual_mean - 0.0058 * places.elevation
    tropical, snow, polar = (places.climate == CLIMATES.index(name) for name in ("tropical", "snow", "polar"))
    assert (mean - places.annual_swing)[tropical].min() >= 18.0
    assert (mean + places.annual_swing)[polar].max() < 10.0
    assert (mean - places.annual_swing)[snow].max() <= -3.0
    assert (mean + places.annual_swing)[snow].min() >= 10.0


def test_equal_seeds_make_equal_rows_and_others_do_not() -> None:
    first, second, other = (dataset.simulate(0.0005, seed) for seed in (3, 3, 4))
    for name, table in first.items():
        np.testing.assert_array_equal(table.features, second[name].features)
        assert not np.array_equal(table.temperature, other[name].temperature)


def test_a_place_and_time_has_the_same_weather_whoever_else_is_asked_for(world: dataset.World) -> None:
    station, hours = np.arange(50), np.linspace(0.0, 8000.0, 50)
    all_of = world.fields.at(world.stations.latitude[:50], world.stations.longitude[:50], hours)
    single = world.fields.at(world.stations.latitude[7:8], world.stations.longitude[7:8], hours[7:8])
    np.testing.assert_allclose(all_of[:, 7:8], single, atol=1e-3)
    assert len(station) == all_of.shape[1]


def test_fields_have_unit_variance_and_remember(world: dataset.World) -> None:
    rng = np.random.default_rng(0)
    latitude, longitude = rng.uniform(-60, 60, 4000).astype("f4"), rng.uniform(-180, 180, 4000).astype("f4")
    hours = rng.uniform(0, 8760, 4000)
    now, soon, late = (world.fields.at(latitude, longitude, hours + h) for h in (0.0, 3.0, 2000.0))
    np.testing.assert_allclose(now.std(axis=1), 1.0, atol=0.15)
    assert all(np.corrcoef(a, b)[0, 1] > 0.4 for a, b in zip(now, soon, strict=True))
    assert all(abs(np.corrcoef(a, b)[0, 1]) < 0.75 for a, b in zip(now, late, strict=True))


def test_the_sun_stands_where_almanacs_put_it() -> None:
    """Greenwich at noon of the June solstice and the equator at the March equinox of 2019; midnight sun at 70 N."""
    june, march = 1_561_118_400.0, 1_553_083_200.0
    time = np.array([june, march, june - 43_200.0])
    position = sun(time, np.array([51.48, 0.0, 70.0], "f4"), np.zeros(3, "f4"))
    np.testing.assert_allclose(position.elevation, [90 - 51.48 + 23.44, 88.1, 3.4], atol=0.3)


def test_the_dew_point_undoes_the_vapour_pressure() -> None:
    temperature = np.linspace(-40.0, 40.0, 9)
    for humidity in (0.1, 0.5, 0.99):
        actual = dew_point(temperature, np.full(9, humidity))
        np.testing.assert_allclose(vapour_pressure(actual), humidity * vapour_pressure(temperature), rtol=1e-9)


def test_shifted_splits_are_summer_in_other_climates(splits: dict[str, Table]) -> None:
    assert splits["dev_out"].temperature.mean() > splits["train"].temperature.mean()
    high = np.abs(splits["eval_out"].latitude).mean()
    assert high > np.abs(splits["train"].latitude).mean() + 10.0
    assert splits["train"].time.min() >= partition.BEGIN
