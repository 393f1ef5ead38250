"""JSON bodies of rows: all forms are one, plain bodies are decoded at once, and all others are explained."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.schema import Feature, Schema
from services.request.row_task import Named, Packed
from services.request.validate import named_rows, packed_rows
from services.runtime.errors import InvalidInput
from services.transport.http.row_body import BodyDecoder
from services.transport.http.row_reader import reader
from tests.contract.serving import serving
from tests.services.tabular import ROWS, TABULAR

SCHEMA = Schema(
    (
        Feature("speed", "m/s", 0, 20, "Speed."),
        Feature("wave height", "m", 0, 15, "Waves.", nullable=True),
        Feature("drift", "m/s", -5, 5, "Drift."),
    ),
    metadata=("time",),
)
NAMES = SCHEMA.names
READ = reader(("power",), SCHEMA)
MATRIX = {"columns": ["drift", "speed", "wave height"], "values": [1, 2, None, 4, 5, 6]}
NUMBER = st.floats(-1e9, 1e9) | st.integers(-(10**6), 10**6)


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def rows_of(form: Packed | Named) -> Any:
    if isinstance(form, Packed):
        return packed_rows(SCHEMA, form.row_count, form.values, form.schema_hash, 100)
    return named_rows(SCHEMA, form.columns, 100)


def forms(rows: list[tuple[float | None, ...]]) -> list[dict[str, Any]]:
    columns = [list(values) for values in zip(*rows, strict=True)]
    return [
        {"rows": [dict(zip(NAMES, row, strict=True)) for row in rows]},
        {"rows": [dict(zip(NAMES[::-1], row[::-1], strict=True)) | {"time": "12:00"} for row in rows]},
        {"columns": dict(zip(NAMES, columns, strict=True))},
        {"columns": {"time": 3} | dict(zip(NAMES[::-1], columns[::-1], strict=True))},
        {"matrix": {"columns": NAMES, "values": [value for row in rows for value in row]}},
        {"matrix": {"columns": NAMES[::-1], "values": [value for row in rows for value in row[::-1]]}},
    ]


@given(st.lists(st.tuples(NUMBER, st.none() | NUMBER, NUMBER), min_size=1, max_size=5))
def test_all_forms_are_the_same_rows_and_what_is_read_column_by_column(rows: list[tuple[float | None, ...]]) -> None:
    expected = np.array(rows, np.float64).astype(np.float32)
    for content in map(json.dumps, forms(rows)):
        request, _ = READ(content.encode())
        assert isinstance(request.form, Packed), content
        np.testing.assert_array_equal(rows_of(request.form), expected)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BodyDecoder, "decode", lambda self, text: None)
            explained, _ = READ(content.encode())
        assert isinstance(explained.form, Named)
        np.testing.assert_array_equal(rows_of(explained.form), expected)


def test_options_come_with_any_form() -> None:
    options = {"units": {"speed": "m/s", "drift": ""}, "purpose": "explore", "defer_above": {"power": 2}}
    for form in forms([(1.0, None, 2.0)]):
        request, read = READ(body(**form, **options, members=True))
        assert isinstance(request.form, Packed)
        assert (request.members, read.purpose, dict(read.defer_above)) == (True, "explore", {"power": 2.0})
        request, read = READ(body(**form, units={}, purpose=None, defer_above=None, members=False))
        assert isinstance(request.form, Packed)
        assert (request.members, read.purpose, dict(read.defer_above)) == (False, None, {})


UNUSUAL = {
    "a text along, which may have names": {"rows": [{"speed": 1, "wave height": 1, "drift": 1, "time": {"a": 1}}]},
    "unknown column": {"columns": {"speed": [1], "wave height": [1], "drift": [1], "wave": [1]}},
    "unequal columns": {"columns": {"speed": [1], "wave height": [1, 2], "drift": [1]}},
    "another unit": {"matrix": MATRIX, "units": {"speed": "kn"}},
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_the_decoder_leaves_out_is_read_column_by_column(name: str) -> None:
    request, _ = READ(body(**UNUSUAL[name]))
    assert isinstance(request.form, Named)


REFUSED: dict[str, tuple[dict[str, Any] | bytes, tuple[str, str, str, int]]] = {
    "text": ({"columns": MATRIX["columns"], "values": [1, 2, 3, 4, "x", 6]}, ("not_a_number", "speed", '"x"', 1)),
    "null": ({"columns": MATRIX["columns"], "values": [1, 2, 3, 4, None, 6]}, ("not_finite", "speed", "null", 1)),
    "beyond float32": ({"columns": MATRIX["columns"], "values": [1e300, 2, 3]}, ("out_of_range", "drift", "1e+300", 0)),
    "beyond float64": (
        b'{"matrix": {"columns": ["speed", "wave height", "drift"], "values": [1, 2, 3, 4, 5, 1e999]}}',
        ("not_a_number", "drift", "1e999", 1),
    ),
    "NaN": (
        b'{"matrix": {"columns": ["wave height", "drift", "speed"], "values": [1, 2, 3, 4, 5, NaN]}}',
        ("not_finite", "speed", "NaN", 1),
    ),
    "NaN for a missing value": (
        b'{"matrix": {"columns": ["wave height", "drift", "speed"], "values": [1, 2, 3, NaN, 5, 6]}}',
        ("not_finite", "wave height", "NaN", 1),
    ),
    "NaN of no column": (b'{"matrix": {"values": [1, NaN]}}', ("not_finite", "values", "NaN", 1)),
    "an incomplete row": ({"columns": MATRIX["columns"], "values": [1, 2, 3, 4]}, ("wrong_length", "values", "4", -1)),
    "values without columns": ({"columns": [], "values": [1]}, ("wrong_length", "values", "1", -1)),
    "a column twice": (
        {"columns": ["speed", "drift", "speed"], "values": [1, 2, 3]},
        ("doubled_column", "speed", "", -1),
    ),
    "a name twice": (
        b'{"matrix": {"columns": ["speed"], "values": [1], "values": [2]}}',
        ("doubled_column", "values", "", -1),
    ),
    "no values": ({"columns": ["speed"]}, ("not_a_body", "", "", -1)),
    "values by name": ({"columns": ["speed"], "values": {"speed": 1}}, ("not_a_body", "", "", -1)),
    "another name": ({"columns": ["speed"], "values": [1], "rows": 1}, ("not_a_body", "", "", -1)),
    "columns of numbers": ({"columns": [1], "values": ["x"]}, ("not_a_body", "", "", -1)),
    "text for nothing": ({"columns": [], "values": ["x"]}, ("not_a_body", "", "", -1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_matrix_that_is_refused_is_explained(name: str) -> None:
    content, expected = REFUSED[name]
    with pytest.raises(InvalidInput) as caught:
        READ(content if isinstance(content, bytes) else body(matrix=content))
    error = caught.value
    assert (error.code, error.field, error.value, error.index) == expected, error.message


def test_a_wrong_value_in_a_large_matrix_is_still_found() -> None:
    with pytest.raises(InvalidInput) as caught:
        READ(body(matrix={"columns": NAMES, "values": [1] * 600_001 + [True]}))
    assert (caught.value.code, caught.value.field, caught.value.index) == ("not_a_number", "wave height", 200_000)


def test_several_forms_are_named() -> None:
    for content, words in (
        ({"rows": [], "matrix": MATRIX}, 'has "rows" and "matrix"'),
        ({}, 'has neither "columns", "rows" nor "matrix"'),
        ({"rows": [], "columns": {}}, 'has "columns" and "rows"'),
    ):
        with pytest.raises(InvalidInput) as caught:
            READ(body(**content))
        assert f"the body {words}; send " in caught.value.message


async def test_a_matrix_without_rows_is_refused() -> None:
    async with serving(TABULAR) as served:
        answer = await served.http.post("/v1/predict", json={"matrix": {"columns": ["speed", "wave"], "values": []}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "no_rows")


async def test_a_matrix_is_answered_as_rows_are() -> None:
    matrix = {"matrix": {"columns": ["wave", "speed"], "values": [0.5, 2.0, 9.0, 3.0]}}
    async with serving(TABULAR) as served:
        answers = [(await served.http.post("/v1/predict", json=content)).json()["power"] for content in (ROWS, matrix)]
    for answer in answers:
        del answer["prediction_ids"]
    assert answers[0] == answers[1]
