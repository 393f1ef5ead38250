"""Columns of the tasks' schemas as the client sends them, and values that carry units as libraries do."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from demur._description import Feature
from demur._rows.packing import Layout, pack
from models.schema import Schema
from models.tasks.vessel.data import table as vessel
from models.tasks.weather.data import features as weather

KNOTS = 15.55075593952484
"""8 m/s."""


def layout_of(schema: Schema, *names: str) -> Layout:
    """Layout of these columns of a task."""
    chosen = [feature for feature in schema.features if feature.name in names]
    described = [
        Feature(f.name, f.unit, f.lower, f.upper, np.nan, np.nan, "", f.nullable, f.sentinels, f.values) for f in chosen
    ]
    names = tuple(feature.name for feature in chosen)
    return Layout(
        names,
        tuple(feature.unit for feature in chosen),
        "hash",
        100,
        frozenset(names),
        metadata=("time",),
        differences=frozenset(feature.name for feature in described if feature.difference),
        sentinels={feature.name: feature.sentinels for feature in chosen if feature.sentinels},
    )


def taken(schema: Schema, name: str, values: Any, unit: str | None = None) -> list[float]:
    """Return the values of one column as the client packs them."""
    packed = pack({name: values}, layout_of(schema, name), None if unit is None else {name: unit})
    return packed[:, 0].tolist()  # type: ignore[no-any-return]


def stw(values: Any, unit: str | None = None) -> list[float]:
    return taken(VESSEL, "stw", values, unit)


VESSEL, WEATHER = Schema(vessel.FEATURES), weather.SCHEMA


def astropy_quantity(values: Any, unit: str) -> Any:
    units = pytest.importorskip("astropy.units")
    with units.imperial.enable():
        return values * units.Unit(unit)


@cache
def registry() -> Any:
    return pytest.importorskip("pint").UnitRegistry()


def pint_quantity(values: Any, unit: str) -> Any:
    return registry().Quantity(values, unit)


def xarray_array(values: Any, unit: str) -> Any:
    return pytest.importorskip("xarray").DataArray(values, attrs={"units": unit})


def pandas_pint(values: Any, unit: str) -> Any:
    pytest.importorskip("pint_pandas")
    return pytest.importorskip("pandas").Series(np.atleast_1d(values), dtype=f"pint[{unit}]")


def xarray_of_pint(values: Any, unit: str) -> Any:
    return pytest.importorskip("xarray").DataArray(pint_quantity(values, unit))


def pandas_attribute(values: Any, unit: str) -> Any:
    series = pytest.importorskip("pandas").Series(np.atleast_1d(values))
    series.attrs["units"] = unit
    return series


LIBRARIES = (astropy_quantity, pint_quantity, xarray_array, pandas_pint, xarray_of_pint, pandas_attribute)
OWN = (astropy_quantity, pint_quantity)
"""Those that convert by themselves."""
Carrier = Callable[[Any, str], Any]


def taken_alike(name: str) -> bool:
    """Return whether a column takes values in its own unit unchanged."""
    schema = WEATHER if name in WEATHER.position else VESSEL
    (feature,) = (feature for feature in schema.features if feature.name == name)
    return taken(schema, name, [1.0], feature.unit) == [1.0]
