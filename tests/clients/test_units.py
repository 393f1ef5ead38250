"""Units that callers declare, words of units, temperatures and durations."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import demur
from demur._rows.packing import pack
from demur._rows.units import _TABLE, parse
from models.schema import Schema
from tests.clients.columns import (
    KNOTS,
    LIBRARIES,
    VESSEL,
    WEATHER,
    Carrier,
    astropy_quantity,
    layout_of,
    pint_quantity,
    registry,
    stw,
    taken,
    taken_alike,
    xarray_array,
)


class TestDeclared:
    @pytest.mark.parametrize(
        ("schema", "column", "unit", "value", "expected"),
        [
            (VESSEL, "stw", "m s**-1", 8.0, KNOTS),
            (VESSEL, "draft_aft_telegram", "ft", 40.0, 12.192),
            (VESSEL, "comb_wind_swell_wave_height", "cm", 140.0, 1.4),
            (VESSEL, "timeSinceDryDock", "days", 365.0, 525_600.0),
            (VESSEL, "diff_speed_overground", "m s-2", 0.001, 0.349892),
            (VESSEL, "diff_speed_overground", "kn/min", 0.1, 0.3),
            (WEATHER, "climate_pressure", "hPa", 1013.25, 760.0),
            (WEATHER, "gfs_pressure", "mbar", 1013.25, 760.0),
            (WEATHER, "wrf_psfc", "kPa", 101.325, 101_325.0),
            (WEATHER, "sun_elevation", "radians", 0.5, 28.64789),
            (WEATHER, "wrf_rh2", "%", 45.0, 0.45),
            (WEATHER, "gfs_humidity", "1", 0.45, 45.0),
            (WEATHER, "cmc_0_6_1_0", "(0 - 1)", 0.45, 45.0),
            (WEATHER, "gfs_clouds_sea", "g kg-1", 0.5, 5e-4),
            (WEATHER, "gfs_precipitable_water", "mm", 23.0, 23.0),
            (WEATHER, "gfs_precipitable_water", "g cm-2", 2.3, 23.0),
            (WEATHER, "cmc_0_1_65_0", "kg m-2", 12.0, 12.0),
            (WEATHER, "cmc_0_1_65_0", "m", 0.012, 12.0),
            (WEATHER, "wrf_rain", "kg m-2 s-1", 0.001, 3.6),
            (WEATHER, "cmc_0_3_5_500", "m**2 s**-2", 54_917.24, 5600.0),
            (WEATHER, "cmc_0_3_5_500", "m", 5600.0, 5600.0),
            (WEATHER, "gfs_r_velocity", "hPa h-1", 36.0, 1.0),
            (WEATHER, "gfs_timedelta_s", "h", 2.0, 7200.0),
            (WEATHER, "gfs_2m_dewpoint", "K", 283.15, 10.0),
            (WEATHER, "gfs_2m_dewpoint", "degF", 50.0, 10.0),
            (WEATHER, "wrf_t2", "degrees_C", 10.0, 283.15),
            (WEATHER, "wrf_t2", "Fahrenheit", 50.0, 283.15),
        ],
    )
    def test_conversions(self, schema: Schema, column: str, unit: str, value: float, expected: float) -> None:
        """Expected values by hand: 1852/3600 m/s in a knot, 133.322 Pa in a mmHg, 9.80665 m/s²."""
        for values in ([value], np.array([value]), [value, None]):
            assert taken(schema, column, values, unit)[0] == pytest.approx(expected, rel=1e-5)

    def test_every_declared_unit_is_known(self) -> None:
        for feature in (*VESSEL.features, *WEATHER.features):
            assert parse(feature.unit) is not None, feature
            assert taken_alike(feature.name), feature

    @pytest.mark.parametrize(
        ("column", "unit"),
        [
            ("stw", "kN"),
            ("stw", "nm/h"),
            ("stw", "furlongs"),
            ("stw", "1"),
            ("stw", "m/s/s"),
            ("stw", "m//s"),
            ("timeSinceDryDock", "minutes since 2020-01-01"),
            ("timeSinceDryDock", "years"),
            ("comb_wind_swell_wave_height", "kg m-2"),
        ],
    )
    def test_what_does_not_convert_is_refused(self, column: str, unit: str) -> None:
        for value in (1.0, xarray_array([1.0], unit)):
            with pytest.raises(demur.InvalidInput) as raised:
                taken(VESSEL, column, value, None if hasattr(value, "attrs") else unit)
            assert (raised.value.code, raised.value.field, raised.value.value) == ("wrong_unit", column, unit)

    def test_names_are_checked(self) -> None:
        layout = layout_of(VESSEL, "stw")
        with pytest.raises(demur.InvalidInput, match="'sog' of units is not a column") as raised:
            pack({"stw": 8.0}, layout, {"sog": "m/s"})
        assert (raised.value.code, raised.value.field) == ("unknown_column", "sog")
        for wrong in ("m/s", {"stw": 1}):
            with pytest.raises(demur.InvalidInput, match="units is"):
                pack({"stw": 8.0}, layout, wrong)  # type: ignore[arg-type]
        assert pack({"stw": 8.0}, layout, {"time": "s", "stw": ""})[0, 0] == 8.0

    def test_arrays_in_the_declared_order(self) -> None:
        layout = layout_of(VESSEL, "stw", "comb_wind_swell_wave_height")
        rows = np.array([[8.0, 1.5]], np.float32)
        np.testing.assert_allclose(pack(rows, layout, {"stw": "m/s"}), [[KNOTS, 1.5]], rtol=1e-6)
        np.testing.assert_allclose(pack(rows[0], layout, {"stw": "m/s"}), [[KNOTS, 1.5]], rtol=1e-6)
        assert rows[0, 0] == 8.0

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_a_declared_unit_that_contradicts_is_refused(self, library: Carrier) -> None:
        assert stw(library(np.array([8.0]), "m/s"), "m s-1") == pytest.approx([KNOTS], rel=1e-6)
        with pytest.raises(demur.InvalidInput, match="carries the unit .* but units declares 'kn'") as raised:
            stw(library(np.array([8.0]), "m/s"), "kn")
        assert raised.value.code == "wrong_unit"

    def test_what_means_missing_does_not_convert(self) -> None:
        soil = taken(WEATHER, "gfs_soil_temperature", [283.15, -9999.0, np.nan], "K")
        assert soil == pytest.approx([10.0, -9999.0, np.nan], nan_ok=True)

    def test_plain_columns_pass_as_they_are(self) -> None:
        values = np.array([8.1, 9.2], np.float32)
        layout = replace(layout_of(VESSEL, "stw"))
        assert pack({"stw": values}, layout, {"stw": "kn"}).tobytes() == values.tobytes()
        assert pack({"stw": xarray_array(values, "kn")}, layout).tobytes() == values.tobytes()


class TestTexts:
    @settings(deadline=None)
    @given(st.text("msKkgnPa°C²-⁻1230./*^() per%deh", max_size=30))
    def test_no_text_breaks_the_reader(self, text: str) -> None:
        unit = parse(text)
        assert unit is None or (np.isfinite(unit.factor) and unit.factor >= 0)

    def test_deep_nesting_is_no_unit(self) -> None:
        assert parse("(" * 100_000 + "m" + ")" * 100_000) is None

    def test_factors_are_those_of_pint(self) -> None:
        """Of every word that both know as a unit of the same kind; temperatures by their zero points, too."""
        compared = set()
        for word, unit in _TABLE.items():
            try:
                zero, one = (registry().Quantity(number, word).to_root_units() for number in (0.0, 1.0))
                root = parse(str(one.units) or "1")
            except Exception:  # a word that pint does not know, or refuses in one of many ways
                continue
            if root is None or root.dimension != unit.dimension:
                continue
            factor, offset = (one.magnitude - zero.magnitude) * root.factor, zero.magnitude * root.factor
            assert unit.factor == pytest.approx(factor, rel=1e-7), word
            assert unit.offset == pytest.approx(offset, abs=1e-9), word
            compared.add(word)
        known = {"knot", "kt", "hPa", "mmHg", "degC", "degF", "delta_degF", "mph", "nmi", "radian", "percent"}
        assert known - compared == set()
        assert len(compared) > 80


class TestTemperatures:
    DIFFERENCES = frozenset(
        {
            f.name
            for f in WEATHER.features
            if f.unit in ("K", "°C") and ("_grad" in f.name or "depress" in f.description)
        }
    )

    def test_differences_are_known_by_their_range(self) -> None:
        assert layout_of(WEATHER, *WEATHER.names).differences == self.DIFFERENCES
        assert len(self.DIFFERENCES) == 10

    @pytest.mark.parametrize(
        ("library", "unit", "value"),
        [
            (pint_quantity, "kelvin", 283.15),
            (pint_quantity, "degC", 10.0),
            (pint_quantity, "degF", 50.0),
            (astropy_quantity, "K", 283.15),
            (astropy_quantity, "mK", 283_150.0),
            (astropy_quantity, "deg_C", 10.0),
            (astropy_quantity, "deg_F", 50.0),
            (xarray_array, "K", 283.15),
            (xarray_array, "degC", 10.0),
        ],
    )
    def test_zero_points_move(self, library: Carrier, unit: str, value: float) -> None:
        quantity = library(np.array([value]), unit)
        assert taken(WEATHER, "gfs_2m_dewpoint", quantity) == pytest.approx([10.0], abs=1e-4)
        assert taken(WEATHER, "wrf_t2", quantity) == pytest.approx([283.15], abs=1e-4)

    @pytest.mark.parametrize(
        ("library", "unit", "value"),
        [
            (pint_quantity, "kelvin", 2.0),
            (pint_quantity, "delta_degC", 2.0),
            (pint_quantity, "delta_degF", 3.6),
            (astropy_quantity, "K", 2.0),
            (xarray_array, "K", 2.0),
            (xarray_array, "degC", 2.0),
        ],
    )
    def test_differences_have_no_zero_point(self, library: Carrier, unit: str, value: float) -> None:
        quantity = library(np.array([value]), unit)
        for column in ("gfs_temperature_sea_grad", "wrf_t2_grad", "cmc_0_0_7_850"):
            assert taken(WEATHER, column, quantity) == pytest.approx([2.0], abs=1e-5)

    def test_a_temperature_is_no_difference_and_the_other_way(self) -> None:
        with pytest.raises(demur.InvalidInput, match="holds differences of temperatures: give them in K"):
            taken(WEATHER, "gfs_temperature_sea_grad", pint_quantity([50.0], "degF"))
        with pytest.raises(demur.InvalidInput, match="holds differences of temperatures"):
            taken(WEATHER, "gfs_temperature_sea_grad", [50.0], "degF")
        with pytest.raises(demur.InvalidInput, match="holds temperatures, not differences"):
            taken(WEATHER, "gfs_2m_dewpoint", pint_quantity([10.0], "delta_degC"))

    def test_the_attribute_of_cf_that_tells_them_apart(self) -> None:
        step = xarray_array([3.6], "degF")
        step.attrs["units_metadata"] = "temperature: difference"
        assert taken(WEATHER, "gfs_temperature_sea_grad", step) == pytest.approx([2.0])
        with pytest.raises(demur.InvalidInput, match="not differences"):
            taken(WEATHER, "gfs_2m_dewpoint", step)
        step.attrs["units_metadata"] = "temperature: on_scale"
        assert taken(WEATHER, "gfs_2m_dewpoint", step) == pytest.approx([(3.6 - 32) / 1.8], rel=1e-5)
        with pytest.raises(demur.InvalidInput, match="differences of temperatures"):
            taken(WEATHER, "wrf_t2_grad", step)


class TestDurations:
    MINUTES = 2 * 1440.0

    @pytest.mark.parametrize(
        "values",
        [
            timedelta(days=2),
            [timedelta(days=2), None],
            np.timedelta64(2, "D"),
            np.timedelta64(172_800_000, "ms"),
            [np.timedelta64(48, "h"), np.timedelta64("NaT")],
            np.array([2, "NaT"], "timedelta64[D]"),
            np.ma.array([172_800, 1], "timedelta64[s]", mask=[False, True]),
        ],
    )
    def test_become_the_unit_of_time(self, values: Any) -> None:
        first, *rest = taken(VESSEL, "timeSinceDryDock", values)
        assert first == self.MINUTES
        assert np.isnan(rest).all()
        assert taken(WEATHER, "gfs_horizon_h", values)[0] == 48.0

    def test_of_data_frames(self) -> None:
        pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
        values = [timedelta(days=2), None]
        layout = layout_of(VESSEL, "timeSinceDryDock")
        for frame in (
            pandas.DataFrame({"timeSinceDryDock": pandas.to_timedelta(values)}),
            pandas.DataFrame({"timeSinceDryDock": pandas.Series([pandas.Timedelta(days=2), pandas.NaT], dtype=object)}),
            polars.DataFrame({"timeSinceDryDock": values}),
            arrow.table({"timeSinceDryDock": values}),
        ):
            np.testing.assert_array_equal(pack(frame, layout), [[self.MINUTES], [np.nan]])

    def test_fit_no_other_column(self) -> None:
        with pytest.raises(demur.InvalidInput) as raised:
            stw(np.array([1], "timedelta64[s]"))
        assert (raised.value.code, raised.value.field, raised.value.value) == ("wrong_unit", "stw", "timedelta64[s]")
        for unknown in (np.array([1]).astype("timedelta64"), np.array([1], "timedelta64[M]")):
            with pytest.raises(demur.InvalidInput, match="this model takes 'min'"):
                taken(VESSEL, "timeSinceDryDock", unknown)

    def test_need_no_declaration(self) -> None:
        assert taken(VESSEL, "timeSinceDryDock", timedelta(days=2), "h") == [self.MINUTES]
        with pytest.raises(demur.InvalidInput, match="but units declares 'm'"):
            taken(VESSEL, "timeSinceDryDock", timedelta(days=2), "m")
