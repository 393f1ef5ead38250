"""The official 123 columns behind both protocols: refusals fit a header, whatever the width, and say what to do."""

from collections.abc import AsyncIterator

import numpy as np
import pytest

from models.artefact import Artefact
from models.tasks.weather.artefact import build
from models.tasks.weather.data.features import METADATA, SCHEMA
from models.tasks.weather.spec import HEADS
from models.tasks.weather.training import boosting
from tests.models.weather.official import table
from tests.services.weather import Rows, Served, named, packed, serving

SMALL = boosting.Settings(boosting.Trees(3, 24, 0.3), boosting.Trees(3, 24, 0.3), patience=30, threads=1, borders=16)


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    folder = tmp_path_factory.mktemp("official")
    data = {"train": table(300, 1), "dev_in": table(250, 2)}
    trees = boosting.train(data, HEADS, SCHEMA, folder / "parts", members=2, settings=SMALL)
    return build.build(trees, data, folder / "out", schema=SCHEMA)


@pytest.fixture
async def served(official: Artefact) -> AsyncIterator[Served]:
    async with serving(official) as service:
        yield service


@pytest.fixture(scope="module")
def rows() -> Rows:
    return np.asarray(table(6, 3).features, np.float32)


async def test_rows_are_taken_in_the_order_of_the_files_or_by_name(served: Served, rows: Rows) -> None:
    ordered, other = await served.message(rows), await served.message(named(rows[:, ::-1], SCHEMA.names[::-1]))
    assert ordered.temperature.mean == other.temperature.mean
    along = {name: [0.0] * 6 for name in METADATA}
    assert (await served.message(named(rows, SCHEMA.names, **along))).temperature.mean == ordered.temperature.mean


@pytest.mark.parametrize("width", [122, 124, 129])
async def test_files_of_another_width_are_told_so(served: Served, width: int) -> None:
    error = await served.refused(np.zeros((3, width), np.float32))
    assert f"these are rows of {width} columns" in error["message"]
    assert ("leave out fact_time" in error["message"]) == (width == 129)


async def test_no_refusal_is_too_long_for_a_header(served: Served, rows: Rows) -> None:
    """gRPC drops what exceeds 8 kB of them, and the caller would hear of nothing."""
    strange = named(rows, ("gfs_temprature_x", *SCHEMA.names[1:]))
    other = packed(rows)
    other.packed.schema_hash = "0" * 16
    for message, code in (
        (strange, "unknown_column"),
        (named(rows[:, :1], SCHEMA.names[:1]), "missing_column"),
        (named(rows[:, :0], ()), "missing_column"),
        (other, "schema_mismatch"),
    ):
        error = await served.refused(message)
        assert (error["status"], error["code"]) == ("INVALID_ARGUMENT", code)
        assert error["message"]


async def test_no_column_of_degrees_takes_kelvin(served: Served, rows: Rows) -> None:
    celsius = [feature.name for feature in SCHEMA.features if feature.unit == "°C" and "grad" not in feature.name]
    assert celsius
    for name in celsius:
        wrong = rows.copy()
        wrong[2, SCHEMA.position[name]] = 288.15
        error = await served.refused(wrong)
        assert (error["code"], error["field"], error["index"], error["unit"]) == ("out_of_range", name, 2, "°C")


async def test_flags_are_checked_and_the_sentinel_is_understood(served: Served, rows: Rows) -> None:
    ((soil, sentinel),) = SCHEMA.sentinels
    good = rows.copy()
    good[:, soil] = sentinel
    message = await served.message(good)
    assert len(message.temperature.mean) == 6 * 4
    for position, _ in SCHEMA.enumerated:
        wrong = rows.copy()
        wrong[1, position] = 0.5
        error = await served.refused(wrong)
        assert (error["code"], error["field"], error["allowed"]) == ("out_of_range", SCHEMA.names[position], "0, 1")


async def test_a_row_of_nothing_but_missing_values_is_refused_or_answered_in_words(served: Served, rows: Rows) -> None:
    nothing = np.full((1, len(SCHEMA)), np.nan, np.float32)
    error = await served.refused(nothing)
    assert error["code"] == "not_finite"
    assert "more values are refused" in error["message"]
    missing = np.where(SCHEMA.nullable, np.float32(np.nan), rows)
    assert np.isfinite(np.frombuffer((await served.message(missing)).temperature.mean, "<f4")).all()
