"""Bad input of the weather task over both protocols: each gets an answer that says what to do, or is no bad input."""

import json
import resource
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from demur.v1 import common_pb2
from tests.models.weather.tiny import METADATA, SCHEMA, SENTINEL, Tiny
from tests.services.weather import Json, Rows, Served, body, by_row, named, packed, serving

SOIL, AVAILABLE, SNOWING = (SCHEMA.position[name] for name in ("soil_temperature", "soil_available", "snowing"))
F = len(SCHEMA)


@pytest.fixture
async def served(tiny: Tiny) -> AsyncIterator[Served]:
    async with serving(tiny.trees) as service:
        yield service


def changed(rows: Rows, column: str, value: float, row: int = 0) -> Rows:
    altered = rows.copy()
    altered[row, SCHEMA.position[column]] = value
    return altered


async def refusals(served: Served, rows: Rows) -> list[Json]:
    """What each way to send rows is told: packed and named over gRPC, columns and rows of JSON."""
    errors = [await served.refused(rows), await served.refused(named(rows))]
    assert {error.pop("status") for error in errors} == {"INVALID_ARGUMENT"}
    over_http = [await served.refusal(body(rows)), await served.refusal(by_row(rows))]
    assert {error.pop("status") for error in over_http} == {422}
    return errors + over_http


WRONG: dict[str, tuple[str, float, str, str, str]] = {
    "kelvin in a column of °C": ("gfs_temperature", 288.15, "out_of_range", "288.15 °C", "-90 to 60 °C (missing: NaN)"),
    "a flag that is half": ("soil_available", 0.5, "out_of_range", "0.5", "one of 0, 1"),
    "a flag of two": ("snowing", 2.0, "out_of_range", "2", "one of 0, 1 (missing: NaN)"),
    "a missing flag": ("soil_available", np.nan, "not_finite", "", "one of 0, 1"),
    "missing elevation": ("elevation", np.nan, "not_finite", "", "-500 to 9000 m"),
    "the sentinel of another column": ("elevation", SENTINEL, "out_of_range", "-9999 m", "-500 to 9000 m"),
    "nearly the sentinel": (
        "soil_temperature",
        -9998.0,
        "out_of_range",
        "-9998 °C",
        "-90 to 70 °C (missing: NaN or -9999)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
async def test_values_that_cannot_be_are_refused_with_what_could(served: Served, tiny: Tiny, name: str) -> None:
    column, value, code, phrase, allowed = WRONG[name]
    rows = changed(tiny.rows[:3], column, value, row=1)
    for error in await refusals(served, rows):
        assert (error["code"], error["field"], error["index"]) == (code, column, 1)
        assert f"must be {allowed} in row 1; correct the value" in error["message"]
        assert phrase in error["message"]
        assert error["unit"] == SCHEMA.features[SCHEMA.position[column]].unit
        feature = SCHEMA.features[SCHEMA.position[column]]
        assert error["allowed"] == ("0, 1" if feature.values else f"[{feature.lower:g}, {feature.upper:g}]")


async def test_infinity_is_refused_where_it_can_be_sent(served: Served, tiny: Tiny) -> None:
    rows = changed(tiny.rows[:2], "rain", np.inf)
    for message in (packed(rows), named(rows)):
        error = await served.refused(message)
        assert (error["code"], error["field"], error["index"]) == ("not_finite", "rain", 0)


async def test_documented_missing_values_pass_and_are_not_outside_training(served: Served, tiny: Tiny) -> None:
    """NaN, null and the sentinel of soil temperatures; -90 °C there would be outside."""
    rows = np.repeat(tiny.data["train"].features[:1], 4, axis=0).astype(np.float32)
    rows[:, SOIL], rows[:, AVAILABLE], rows[:, SNOWING] = (SENTINEL, np.nan, 5.0, -90.0), (0, 0, 1, 1), np.nan
    rows[:, :4] = np.nan_to_num(rows[:, :4], nan=1.0)
    rows[3, SNOWING] = 0
    flag = "outside_training_range"
    for answer in (await served.answer(rows), (await served.json(by_row(rows)))[1]):
        for head in ("temperature", "precipitation"):
            assert [flag in reasons for reasons in answer[head]["shifted"]] == [False, False, False, True]
    message = await served.message(rows)
    assert [value & 1 for value in message.temperature.deferral.shifts] == [0, 0, 0, 1]


async def test_sentinel_and_nan_are_told_apart_by_the_model(served: Served, tiny: Tiny) -> None:
    """They arrive as they are: what was trained on -9999 gets -9999."""
    rows = changed(tiny.rows[:1], "soil_temperature", SENTINEL)
    request, _ = served.assembled.tenant.http.read_json(json.dumps(body(rows)).encode())
    units: Any = served.assembled.tenant.pipeline.task.expand(request)
    np.testing.assert_array_equal(units.payload.rows, rows)


async def test_a_row_that_misses_all_it_may_miss_is_answered_or_deferred(served: Served, tiny: Tiny) -> None:
    rows = changed(tiny.rows[:2], "soil_available", 0.0)
    rows[0, [index for index, feature in enumerate(SCHEMA.features) if feature.nullable]] = np.nan
    answer = await served.answer(rows)
    assert answer["temperature"]["decision"][0] in ("ANSWER", "DEFER")
    assert np.isfinite(np.float64(answer["temperature"]["mean"])).all()
    assert np.isfinite(np.float64(answer["precipitation"]["probabilities"])).all()
    nothing = np.full((1, F), np.nan, np.float32)
    for error in await refusals(served, nothing):
        assert (error["code"], error["field"], error["index"]) == ("not_finite", "soil_available", 0)
        assert "1 more values are refused" in error["message"] or "null" in error["message"]


WIDTHS = {
    F - 1: f"these are rows of {F - 1} columns: send the {F} declared ones in their order, or columns by name",
    F + 1: f"these are rows of {F + 1} columns: send the {F} declared ones in their order, or columns by name",
    F
    + 6: f"these are rows of {F + 6} columns: leave out {', '.join(METADATA)}, which are no features, or send columns",
}


@pytest.mark.parametrize("width", WIDTHS)
async def test_packed_rows_of_another_width_are_told_what_is_too_much(served: Served, width: int) -> None:
    error = await served.refused(np.zeros((5, width), np.float32))
    assert (error["code"], error["status"], error["unit"]) == ("wrong_length", "INVALID_ARGUMENT", "bytes")
    assert WIDTHS[width] in error["message"]
    assert (error["value"], error["allowed"]) == (str(5 * width * 4), str(5 * F * 4))


async def test_a_torn_message_is_not_taken_for_another_width(served: Served, tiny: Tiny) -> None:
    message = packed(tiny.rows[:5])
    message.packed.values = message.packed.values[:-3]
    error = await served.refused(message)
    assert "check row_count and the column order" in error["message"]


async def test_columns_are_matched_by_name(served: Served, tiny: Tiny) -> None:
    rows = tiny.rows[:20]
    order = np.random.default_rng(0).permutation(F)
    mixed = await served.message(named(rows[:, order], [SCHEMA.names[index] for index in order]))
    assert mixed.temperature.mean == (await served.message(rows)).temperature.mean
    for error in (
        await served.refused(named(rows[:, 1:], SCHEMA.names[1:])),
        await served.refusal({"columns": {n: v for n, v in body(rows)["columns"].items() if n != SCHEMA.names[0]}}),
    ):
        assert (error["code"], error["field"]) == ("missing_column", "gfs_temperature")
    renamed = ("gfs_temperature_2m", *SCHEMA.names[1:])
    for error in (
        await served.refused(named(rows, renamed)),
        await served.refusal({"columns": dict(zip(renamed, body(rows)["columns"].values(), strict=True))}),
    ):
        assert (error["code"], error["field"]) == ("unknown_column", "gfs_temperature_2m")
        assert "gfs_temperature (°C)" in error["message"]


async def test_a_unit_that_is_told_is_checked(served: Served, tiny: Tiny) -> None:
    rows = tiny.rows[:2]
    message = named(rows)
    message.named.columns[0].unit = "K"
    for error in (
        await served.refused(message),
        await served.refusal(body(rows) | {"units": {"gfs_temperature": "K"}}),
    ):
        assert (error["code"], error["field"], error["value"], error["allowed"]) == (
            "wrong_unit",
            "gfs_temperature",
            "K",
            "°C",
        )
    status, _ = await served.json(body(rows) | {"units": {"gfs_temperature": "°C", "elevation": "m"}})
    assert status == 200


@pytest.mark.parametrize("value", ['"12.5"', '"warm"', "true", "[1]", "{}", "1e999", '""'])
async def test_what_is_no_number_in_a_column_is_quoted(served: Served, tiny: Tiny, value: str) -> None:
    """With and without texts in the metadata beside it: another way through the reader."""
    rows = by_row(tiny.rows[:2])["rows"]
    for metadata in ({}, {"climate": "dry"}):
        texts = [json.dumps(row | metadata) for row in rows]
        texts[1] = texts[1].replace('"rain": ' + json.dumps(rows[1]["rain"]), f'"rain": {value}')
        columns = {name: [json.dumps(row[name]) for row in rows] for name in rows[0]}
        columns["rain"][1] = value
        columns |= {name: [json.dumps(text)] * 2 for name, text in metadata.items()}
        joined = ", ".join(f'"{name}": [{", ".join(values)}]' for name, values in columns.items())
        for content in (f'{{"rows": [{", ".join(texts)}]}}', f'{{"columns": {{{joined}}}}}'):
            error = await served.refusal(content.encode())
            assert (error["code"], error["field"], error["index"]) == ("not_a_number", "rain", 1), content
            assert error["value"] == value


ALONG: dict[str, list[Any]] = {
    "fact_time": ["2019-01-01T12:00:00", "2019-01-01T13:00:00", None],
    "fact_latitude": [1e999, -91.5, None],
    "fact_longitude": [None, None, None],
    "fact_temperature": [-9999, 1.5, "unknown"],
    "fact_cwsm_class": [0, True, {"code": 10}],
    "climate": ["dry", "polar: ice", ["mild", "snow"]],
}


@pytest.mark.parametrize("names", [METADATA, METADATA[:1], METADATA[1:2], METADATA[5:]])
async def test_metadata_of_any_kind_comes_along_unread(served: Served, tiny: Tiny, names: tuple[str, ...]) -> None:
    rows = tiny.rows[:3]
    plain = await served.answer(rows)
    along = {name: ALONG[name] for name in names}
    objects = [row | {name: along[name][index] for name in names} for index, row in enumerate(by_row(rows)["rows"])]
    mixed = [objects[0], *by_row(rows)["rows"][1:]]
    strange = {"climate": "one for all"} if "climate" in names else {}
    questions: list[Json] = [
        {"columns": body(rows)["columns"] | along},
        {"columns": along | body(rows)["columns"] | strange},
        {"columns": body(rows)["columns"] | {name: [] for name in names}},
        {"rows": objects},
        {"rows": mixed},
        {"rows": [*by_row(rows)["rows"][:2], objects[2]]},
    ]
    for question in questions:
        status, answer = await served.json(json.dumps(question).replace("Infinity", "1e999").encode())
        assert status == 200, answer
        assert answer["temperature"]["mean"] == plain["temperature"]["mean"]
    message = await served.message(named(rows, **{name: [1.0, float("nan"), -1e30] for name in names}))
    assert message.temperature.mean == (await served.message(rows)).temperature.mean
    short = await served.message(named(rows, **{name: [1.0] for name in names}))
    assert short.temperature.mean == message.temperature.mean


async def test_a_unit_of_metadata_is_nobodys_concern(served: Served, tiny: Tiny) -> None:
    question = by_row(tiny.rows[:1], fact_time=1.5) | {"units": {"fact_time": "s since 1970"}}
    assert (await served.json(question))[0] == 200


async def test_doubled_metadata_is_refused(served: Served, tiny: Tiny) -> None:
    twice = named(tiny.rows[:2], climate=[1.0, 2.0])
    twice.named.columns.append(common_pb2.NamedColumn(name="climate", values=[3.0, 4.0]))
    columns = json.dumps(body(tiny.rows[:1]))[:-2]
    objects = json.dumps(by_row(tiny.rows[:1]))[:-3]
    for error in (
        await served.refused(twice),
        await served.refusal(f'{columns}, "climate": [1], "climate": ["a: b"]}}}}'.encode()),
        await served.refusal(f'{objects}, "climate": "dry", "climate": null}}]}}'.encode()),
    ):
        assert (error["code"], error["field"]) == ("doubled_column", "climate")


async def test_long_numbers_in_metadata_are_no_failure(served: Served, tiny: Tiny) -> None:
    """Python refuses to make integers of thousands of digits."""
    digits = "1" * 5000
    columns = json.dumps(body(tiny.rows[:1]))[:-2]
    status, answer = await served.json(f'{columns}, "climate": [{digits}, "a: b"]}}}}'.encode())
    assert status == 200, answer


async def test_more_than_a_megabyte_of_rows_may_have_texts(served: Served, tiny: Tiny) -> None:
    rows = np.tile(tiny.rows, (14, 1))
    question = by_row(rows, fact_time="2019-01-01T12:00:00", climate="dry")
    content = json.dumps(question).encode()
    assert len(content) > 1 << 20
    status, answer = await served.json(content)
    assert status == 200, answer
    assert len(answer["temperature"]["mean"]) == len(rows)
    spoilt = content.replace(b'"elevation": ', b'"elevation": "high", "_": ', 1).replace(b'"_": ', b'"climate_": ', 1)
    assert (await served.refusal(spoilt))["code"] == "not_a_number"


@pytest.mark.long
async def test_a_million_rows_in_one_call_are_refused_in_little_memory(served: Served, tiny: Tiny) -> None:
    count = 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    claimed = packed(tiny.rows[:1])
    claimed.packed.row_count = count
    error = await served.refused(claimed)
    assert (error["code"], error["value"], error["unit"]) == ("too_many_rows", str(count), "rows")
    assert "send them as a stream" in error["message"]
    small = packed(np.resize(tiny.rows, (262_145, F)))
    error = await served.refused(small)
    assert (error["status"], error["code"], error["allowed"]) == ("RESOURCE_EXHAUSTED", "too_many_rows", "[1, 262144]")
    large = packed(np.resize(tiny.rows, (count, F)))
    error = await served.refused(large)
    assert error["status"] == "RESOURCE_EXHAUSTED"
    columns = json.dumps({"columns": {name: [1] * 262_145 for name in SCHEMA.names}}, separators=(",", ":"))
    error = await served.refusal(columns.encode())
    assert (error["status"], error["code"]) == (413, "too_many_rows")
    columns = json.dumps({"columns": {name: [1.5] * count for name in SCHEMA.names}}, separators=(",", ":"))
    error = await served.refusal(columns.encode())
    assert (error["status"], error["code"], error["allowed"]) == (413, "body_too_large", "[0, 16777216]")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 700, f"{grown:.0f} MiB, the test's own messages with them"
    assert (await served.answer(tiny.rows[:1]))["temperature"]["mean"]
