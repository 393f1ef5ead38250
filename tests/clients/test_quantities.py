"""Units that quantities of other libraries carry."""

import numpy as np
import pytest

import demur
from demur._rows.packing import pack
from tests.clients.columns import (
    KNOTS,
    LIBRARIES,
    OWN,
    VESSEL,
    Carrier,
    astropy_quantity,
    layout_of,
    pint_quantity,
    stw,
    xarray_array,
)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("unit", ["m/s", "km/h", "mi/h", "ft/s"])
def test_speeds_are_converted(library: Carrier, unit: str) -> None:
    factor = {"m/s": 1.0, "km/h": 3.6, "mi/h": 3600 / 1609.344, "ft/s": 1 / 0.3048}[unit]
    values = np.array([8.0 * factor, 0.0])
    assert stw(library(values, unit)) == pytest.approx([KNOTS, 0.0], rel=1e-6)


def test_knots_are_knots_by_any_name() -> None:
    expected = [float(np.float32(15.55))]
    assert stw(astropy_quantity([15.55], "kn")) == expected
    assert stw(pint_quantity([15.55], "knot")) == expected
    for word in ("kn", "kt", "knot", "knots", "Knots"):
        assert stw(xarray_array([15.55], word)) == expected


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_unit_that_does_not_fit_is_refused(library: Carrier) -> None:
    with pytest.raises(demur.InvalidInput, match=r"'stw' is given in .*this model takes 'kn'.*give it in") as raised:
        stw(library(np.array([8.0]), "m"))
    error = raised.value
    assert (error.code, error.field, error.unit) == ("wrong_unit", "stw", "kn")
    assert error.value in ("m", "meter")
    assert error.allowed is not None
    assert "m/s" in error.allowed


@pytest.mark.parametrize("library", OWN)
def test_a_quantity_without_dimension_is_no_speed(library: Carrier) -> None:
    with pytest.raises(demur.InvalidInput) as raised:
        stw(library(np.array([8.0]), ""))
    assert (raised.value.code, raised.value.value) == ("wrong_unit", "dimensionless")


@pytest.mark.parametrize("library", OWN)
def test_scalars_lists_and_mixtures(library: Carrier) -> None:
    assert stw(library(8.0, "m/s")) == pytest.approx([KNOTS], rel=1e-6)
    single = [library(8.0, "m/s"), None, library(28.8, "km/h"), float("nan")]
    assert stw(single) == pytest.approx([KNOTS, np.nan, KNOTS, np.nan], rel=1e-6, nan_ok=True)
    with pytest.raises(demur.InvalidInput, match="without one in row 1") as raised:
        stw([library(8.0, "m/s"), 15.0])
    assert raised.value.code == "wrong_unit"


def test_units_of_the_callers_own_registry() -> None:
    own = pytest.importorskip("pint").UnitRegistry(system="cgs")
    own.define("snail = 1e-3 meter / second")
    assert stw(own.Quantity([8000.0], "snail")) == pytest.approx([KNOTS], rel=1e-6)


@pytest.mark.parametrize("library", [pint_quantity, astropy_quantity])
def test_logarithmic_units_are_refused(library: Carrier) -> None:
    quantity = library(np.array([1.0]), "decibel" if library is pint_quantity else "dex(m/s)")
    with pytest.raises(demur.InvalidInput, match="this model takes 'kn'"):
        stw(quantity)


def test_masked_values_stay_missing() -> None:
    masked = pytest.importorskip("astropy.utils.masked").Masked
    values = np.ma.array([8.0, 9.0], mask=[False, True])
    expected = pytest.approx([KNOTS, np.nan], rel=1e-6, nan_ok=True)
    assert stw(pint_quantity(values, "m/s")) == expected
    assert stw(masked(astropy_quantity(np.array([8.0, 9.0]), "m/s"), mask=[False, True])) == expected
    assert stw(values, "m/s") == expected
    assert stw(xarray_array([8.0, np.nan], "m s-1")) == expected


def test_tables_of_astropy() -> None:
    table = pytest.importorskip("astropy.table")
    columns = {"stw": astropy_quantity(np.array([8.0]), "m/s"), "timeSinceDryDock": np.array([5.0])}
    layout = layout_of(VESSEL, "stw", "timeSinceDryDock")
    for kind in (table.Table, table.QTable):
        np.testing.assert_allclose(pack(kind(columns), layout), [[KNOTS, 5.0]], rtol=1e-6)


def test_a_dataset_of_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    dataset = xarray.Dataset(
        {
            "stw": ("time", [8.0], {"units": "m s-1"}),
            "timeSinceDryDock": ("time", np.array([2], "timedelta64[D]").astype("timedelta64[ns]")),
        }
    )
    np.testing.assert_allclose(
        pack(dataset, layout_of(VESSEL, "stw", "timeSinceDryDock")), [[KNOTS, 2880.0]], rtol=1e-6
    )


@pytest.mark.parametrize("key", [b"units", b"unit"])
def test_fields_of_pyarrow(key: bytes) -> None:
    arrow = pytest.importorskip("pyarrow")
    schema = arrow.schema([arrow.field("stw", arrow.float64(), metadata={key: b"m/s"})])
    layout = layout_of(VESSEL, "stw")
    table = arrow.table({"stw": [8.0, None]}, schema=schema)
    np.testing.assert_allclose(pack(table, layout), [[KNOTS], [np.nan]], rtol=1e-6)
    with pytest.raises(demur.InvalidInput, match="carries the unit 'm/s', but units declares 'kn'"):
        pack(table, layout, {"stw": "kn"})


def test_units_of_a_data_frame_by_column() -> None:
    frame = pytest.importorskip("pandas").DataFrame({"stw": [8.0], "timeSinceDryDock": [5.0]})
    frame.attrs["units"] = {"stw": "m/s"}
    layout = layout_of(VESSEL, "stw", "timeSinceDryDock")
    np.testing.assert_allclose(pack(frame, layout), [[KNOTS, 5.0]], rtol=1e-6)


@pytest.mark.parametrize("library", [astropy_quantity, pint_quantity, xarray_array])
def test_a_matrix_has_one_unit(library: Carrier) -> None:
    layout = layout_of(VESSEL, "awind_vcomp_provider", "awind_ucomp_provider")
    rows = pack(library(np.array([[8.0, 4.0]]), "m/s"), layout)
    np.testing.assert_allclose(rows, [[KNOTS, KNOTS / 2]], rtol=1e-6)
    mixed = layout_of(VESSEL, "stw", "comb_wind_swell_wave_height")
    with pytest.raises(demur.InvalidInput, match="'comb_wind_swell_wave_height' is given in"):
        pack(library(np.array([[8.0, 4.0]]), "m/s"), mixed)


@pytest.mark.parametrize("library", OWN)
def test_labels_are_plain_numbers(library: Carrier) -> None:
    """Over a connection that is never made: labels name no unit on the wire."""
    with demur.connect("127.0.0.1:9") as client:
        for give in (
            lambda: client.labels.census(["000000000000feed-1"], library(np.array([11.0]), "MW")),
            lambda: client.labels.submit(demur.Label("000000000000feed-1", library(11.0, "MW"))),
        ):
            with pytest.raises(
                demur.InvalidInput, match="value is a quantity in .*plain numbers in the unit"
            ) as raised:
                give()
            assert raised.value.code == "wrong_unit"
