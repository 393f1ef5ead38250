"""Refusals of JSON bodies: they name the place of a value, show a body that is taken, and stay short."""

import json
import re
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demur.v1 import common_pb2, vessel_pb2, vessel_pb2_grpc
from models.schema import Feature, Schema
from services.runtime.errors import InvalidInput
from services.tasks.lesion.bodies import ScanBody
from services.tasks.motion.bodies import MotionBody
from services.tasks.translation.bodies import TranslationBody
from services.transport.http import decoding, doubled_names, label_bodies, row_hints
from services.transport.http.decoding import JsonBody, json_body
from services.transport.http.policies import ChangeBody
from services.transport.http.row_reader import reader
from services.transport.oip.protocol import oip_pb2
from tests.contract.serving import Served, detail, serving
from tests.services.tabular import ROWS, SCHEMA, TABULAR

READ = reader(("power",), SCHEMA)
NAN, INFINITY = float("nan"), float("inf")
KINDS: list[type[JsonBody]] = [
    TranslationBody,
    MotionBody,
    ScanBody,
    ChangeBody,
    *(value for value in vars(label_bodies).values() if isinstance(value, type) and issubclass(value, JsonBody)),
]
KINDS.remove(JsonBody)


def refused(content: bytes, kind: type[JsonBody]) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        json_body(content, kind)
    return caught.value


async def post(served: Served, content: bytes | Any, path: str = "/v1/predict") -> tuple[int, dict[str, Any]]:
    """Status and error; whatever Python's ``json.dumps`` writes is sent as it is."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    response = await served.http.post(path, content=body)
    return response.status_code, response.json()


@pytest.mark.parametrize(
    ("body", "column", "row", "word"),
    [
        ({"rows": [{"speed": 1, "wave": 1}, {"wave": 1, "speed": NAN}]}, "speed", 1, "NaN"),
        ({"rows": [{"speed": 1, "wave": -INFINITY}]}, "wave", 0, "-Infinity"),
        ({"purpose": "explore", "columns": {"wave": [1, 2, 3], "speed": [1, 2, INFINITY]}}, "speed", 2, "Infinity"),
        ({"units": {"speed": 'a{[\\"'}, "columns": {"wave": [1, NAN], "speed": [1, 2]}}, "wave", 1, "NaN"),
        ({"rows": [{"speed": 1, 'sp,eed"]': 1, "wave": NAN}]}, "wave", 0, "NaN"),
    ],
)
async def test_the_column_and_row_of_what_json_lacks_are_named(body: Any, column: str, row: int, word: str) -> None:
    async with serving(TABULAR) as served:
        status, answer = await post(served, body)
    error = answer["error"]
    assert (status, error["code"]) == (422, "not_finite")
    assert (error["field"], error["index"], error["value"]) == (column, row, word)
    if column == "speed":  # which takes no missing values
        assert error["message"].startswith(f"{column} = {word} m/s: must be 0 to 20 m/s in row {row}; ")
    else:
        problem = f"is not JSON in row {row}; send null for a missing value"
        assert error["message"] == f"{column} = {word}: {problem}"


def test_a_value_deep_in_a_large_body_is_found() -> None:
    rows = [{f"column {index}": 0.12345678 for index in range(50)} | {"speed": 1.0} for _ in range(3000)]
    rows[2999]["speed"] = NAN
    with pytest.raises(InvalidInput) as caught:
        READ(json.dumps({"rows": rows}).encode())
    assert (caught.value.field, caught.value.index) == ("speed", 2999)


def test_words_of_python_are_translated() -> None:
    error = refused(str({"labels": [], "head": None}).replace("'", '"').encode(), label_bodies.LabelsBody)
    assert (error.field, error.value) == ("head", "None")
    assert error.message == "head = None: JSON has no None; send null"
    assert "double quotes" in refused(b"{'text': 'a'}", TranslationBody).message


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "None"])
def test_a_word_inside_of_a_text_is_none(text: str) -> None:
    assert refused(f'{{"texts": ["{text}", "{text}",]}}'.encode(), TranslationBody).code == "not_a_body"


@pytest.mark.parametrize("body", [b"", b" \n", b"[]", b'{"speed": 1, "wave": 2}', b'[{"speed": 1}]', b'{"speed": [1]}'])
async def test_a_refusal_shows_a_body_that_is_taken(body: bytes) -> None:
    async with serving(TABULAR) as served:
        status, answer = await post(served, body)
        assert (status, answer["error"]["code"]) == (422, "not_a_body")
        hint = re.search(r"send (\{.*\})$", answer["error"]["message"])
        assert hint, answer
        assert (await post(served, hint[1].encode()))[0] == 200


def test_the_example_of_a_wide_schema_has_its_first_columns() -> None:
    wide = Schema.of(Feature(f"f{index}", "m", 0.001, 0.0019, "") for index in range(100))
    assert row_hints.example(wide) == (
        '{"rows": [{"f0": 0.001, "f1": 0.001, "f2": 0.001, ... and the other 97 columns of /v1/schema}]}'
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_body_has_an_example_that_it_takes(kind: type[JsonBody]) -> None:
    example = kind.EXAMPLE.partition(", or")[0].encode()
    if kind in (ScanBody, MotionBody):  # files are not written out
        example = re.sub(rb'"<[^"]*"', b'"AAAA"', example)
    json_body(example, kind)
    json_body(b"\xef\xbb\xbf" + example, kind)
    assert kind.EXAMPLE in refused(b"", kind).message
    assert kind.EXAMPLE in refused(b"[]", kind).message
    name = next(iter(json.loads(example)))
    first, rest = example[:-1], example[1:]
    for second in (rest, rest.replace(name.encode(), "".join(f"\\u{ord(letter):04x}" for letter in name).encode(), 1)):
        error = refused(first + b"," + second, kind)
        assert (error.code, error.field) == ("doubled_field", name)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(':"a\\', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(':"ab', max_size=2), inner, max_size=3),
    max_leaves=8,
)


class Anything(JsonBody):
    """A body of names of which some may be left out."""

    need: Any
    a: Any = None
    b: str | None = None
    c: bool = False


@given(
    st.fixed_dictionaries({"need": json_values}, optional={"a": json_values, "b": st.text(':"b'), "c": st.booleans()})
)
def test_names_are_found_twice_where_they_are_and_only_there(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, separators=(",", ":"))):
        doubled_names.check(text.encode(), json_body(text.encode(), Anything))
        for name in value:
            more = json.dumps({name: value[name]})
            assert refused(f"{text.rstrip()[:-1]},{more[1:]}".encode(), Anything).field == name


async def test_a_name_of_a_megabyte_does_not_come_back() -> None:
    name = "n" * (1 << 20)
    bodies = [
        {"rows": [ROWS["rows"][0] | {name: 1}]},
        {"rows": [ROWS["rows"][0] | {name: "x"}]},
        ROWS | {"units": {name: "m"}},
        ROWS | {"units": {"speed": name}},
        ROWS | {"defer_above": {name: 1.0}},
        ROWS | {name: 1},
        ROWS | {"purpose": name},
        {"columns": {name: 1}},
    ]
    tensor = {"name": name, "shape": [1], "datatype": "FP32", "data": [1]}
    oip = [{"inputs": [tensor]}, {"inputs": [tensor | {"name": "speed", "parameters": {name: 1}}]}, {name: 1}]
    async with serving(TABULAR) as served:
        for path, sent in (("/v1/predict", bodies), ("/v2/models/tabular/infer", oip)):
            for body in sent:
                status, answer = await post(served, body, path)
                assert status == 422
                error = answer["error"] if path == "/v1/predict" else answer["detail"]
                assert max(map(len, (error.get("field", ""), error.get("value", "")))) <= 200
                assert "n" * 201 not in json.dumps(answer)
        rows = common_pb2.Rows(named=common_pb2.NamedColumns(columns=[common_pb2.NamedColumn(name=name, values=[1])]))
        known = common_pb2.Rows(
            named=common_pb2.NamedColumns(columns=[common_pb2.NamedColumn(name="speed", values=[1], unit=name)])
        )
        question = oip_pb2.ModelInferRequest(model_name="tabular")
        question.inputs.add(name=name, datatype="FP32", shape=[1])
        vessel = vessel_pb2_grpc.VesselServiceStub(served.channel).Predict
        infer = served.channel.unary_unary(
            "/inference.GRPCInferenceService/ModelInfer",
            request_serializer=oip_pb2.ModelInferRequest.SerializeToString,
        )
        for call, message in (
            (vessel, vessel_pb2.VesselPredictRequest(rows=rows)),
            (vessel, vessel_pb2.VesselPredictRequest(rows=known)),
            (vessel, vessel_pb2.VesselPredictRequest(rows=known, defer_above_by_head={name: 1.0})),
            (infer, question),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call(message)
            error = detail(caught.value)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert max(len(error["field"]), len(error.get("value", ""))) <= 200
            assert "n" * 201 not in error["message"] + caught.value.details()


async def test_all_wrong_units_are_named() -> None:
    async with serving(TABULAR) as served:
        _, answer = await post(served, ROWS | {"units": {"speed": "kn", "wave": "ft"}})
        error = answer["error"]
        assert (error["code"], error["field"], error["unit"]) == ("wrong_unit", "speed", "m/s")
        assert "2 columns" in error["message"]
        assert "'speed' in 'kn' (takes 'm/s'), 'wave' in 'ft' (takes 'm')" in error["message"]
        _, answer = await post(served, ROWS | {"units": {"draft": "m", "sped": "kn"}})
        assert "'draft', 'sped'" in answer["error"]["message"]


def test_json_of_no_kind_is_explained_as_well() -> None:
    with pytest.raises(InvalidInput, match="the body is empty; send a thing"):
        decoding.json(b"", dict[str, Any], "a thing")
