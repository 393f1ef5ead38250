"""The HTTP of tabular tasks: forms of JSON, refusals, content types, sizes; never a 500 whatever the body."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demur.v1 import vessel_pb2
from services.runtime.errors import InvalidInput
from services.transport.http.row_reader import reader
from tests.contract.serving import MODEL, PROFILE, Served, serving
from tests.services.tabular import ROWS, SCHEMA, TABULAR

READ = reader(("power",), SCHEMA)
GOOD = {"columns": {"speed": [2.0, 3.0], "wave": [0.5, 9.0]}}


async def post(served: Served, content: bytes | dict[str, Any], **headers: str) -> httpx.Response:
    data = json.dumps(content).encode() if isinstance(content, dict) else content
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return await served.http.post("/v1/predict", content=data, headers=names)


async def refused(content: bytes | dict[str, Any], **headers: str) -> tuple[int, dict[str, Any]]:
    async with serving(TABULAR, max_message_bytes=2000) as served:
        response = await post(served, content, **headers)
        assert served.probe.executed == []
        return response.status_code, response.json()["error"]


async def test_an_answer_has_everything() -> None:
    async with serving(TABULAR) as served:
        body = (await post(served, GOOD)).json()
    assert (body["model"], body["profile"]) == (MODEL, PROFILE)
    assert (body["recorded"], body["purpose"]) == (False, "decide")
    power = body["power"]
    assert power["mean"] == [8.25, 31.5]
    assert power["data"] == [0.5, 9.0]
    assert power["knowledge"] == [0.0625, 20.25]
    assert power["total"] == power["variance"] == power["uncertainty"] == [0.5625, 29.25]
    assert (power["measure"], power["threshold"]) == ("tvar", 2.0)
    assert power["decision"] == ["ANSWER", "DEFER"]
    assert power["deferred"] == [False, True]
    assert power["shifted"] == [[], ["knowledge_above_reference"]]
    assert [identity.split("-")[1] for identity in power["prediction_ids"]] == ["0", "1"]
    assert not {"intervals", "member_means"} & set(power)


async def test_rows_and_columns_and_protobuf_are_one() -> None:
    async with serving(TABULAR) as served:
        columns, rows = (await post(served, GOOD)).json()["power"], (await post(served, ROWS)).json()["power"]
        message = vessel_pb2.VesselPredictRequest()
        message.rows.packed.row_count = 2
        message.rows.packed.values = np.array([[2, 0.5], [3, 9]], "<f4").tobytes()
        message.rows.packed.schema_hash = SCHEMA.hash
        content = message.SerializeToString()
        response = await post(served, content, content_type="application/protobuf")
    answer = vessel_pb2.VesselPredictResponse.FromString(response.content)
    for field in ("mean", "total", "data", "knowledge"):
        values = np.frombuffer(getattr(answer.power, field), "<f4").tolist()
        assert columns[field] == rows[field] == values
    assert list(answer.power.deferral.decisions) == [1, 2]
    assert np.frombuffer(answer.power.deferral.uncertainty, "<f4").tolist() == columns["uncertainty"]
    assert answer.power.deferral.ids.first == 4, "two units before it in each call"


async def test_members_on_request_and_never_of_what_is_withheld() -> None:
    for withhold in (False, True):
        async with serving(TABULAR, withhold=withhold) as served:
            power = (await post(served, GOOD | {"members": True})).json()["power"]
            assert ("member_means" in power) != withhold
            assert power["mean"] == ([8.25, None] if withhold else [8.25, 31.5])
            assert power["total"] == ([0.5625, None] if withhold else [0.5625, 29.25])
            if not withhold:
                assert power["member_means"] == [[8.0, 27.0], [8.5, 36.0]]


async def test_null_is_a_missing_value_where_one_is_allowed() -> None:
    async with serving(TABULAR) as served:
        power = (await post(served, {"columns": {"speed": [1.0], "wave": [None]}})).json()["power"]
        assert (power["decision"], power["mean"], power["uncertainty"]) == (["DEFER"], [None], [None])
        response = await post(served, {"rows": [{"speed": None, "wave": 1.0}]})
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["field"], error["index"]) == (422, "not_finite", "speed", 0)


async def test_a_single_heads_wish_may_be_a_number_or_named() -> None:
    async with serving(TABULAR) as served:
        for wish in (0.1, {"power": 0.1}):
            power = (await post(served, GOOD | {"defer_above": wish})).json()["power"]
            assert power["decision"] == ["CALLER_DEFERRED", "DEFER"]


REFUSED = {
    "empty": (b"", "not_a_body", ""),
    "not json": (b"{", "not_a_body", ""),
    "not an object": (b"[]", "not_a_body", ""),
    "neither form": (b"{}", "not_a_body", ""),
    "a byte order mark alone": (b"\xef\xbb\xbf", "not_a_body", ""),
    "utf-16": (json.dumps(GOOD).encode("utf-16"), "not_a_body", ""),
    "doubled rows": (b'{"rows": [{"speed": 1, "wave": 1}], "rows": []}', "doubled_column", "rows"),
    "both forms": (json.dumps(GOOD | ROWS).encode(), "not_a_body", ""),
    "unknown wish": (json.dumps(GOOD | {"colour": 1}).encode(), "not_a_body", ""),
    "purpose": (json.dumps(GOOD | {"purpose": "guess"}).encode(), "unknown_purpose", "purpose"),
    "text": (b'{"columns": {"speed": ["fast"], "wave": [1]}}', "not_a_number", "speed"),
    "text in a row": (b'{"rows": [{"speed": 1, "wave": 1}, {"speed": 1, "wave": "1"}]}', "not_a_number", "wave"),
    "a row of lists": (b'{"rows": [[1, 2]]}', "not_a_body", "rows"),
    "rows by name": (b'{"rows": {"speed": 1}}', "not_a_body", ""),
    "a list of columns": (b'{"columns": [1]}', "not_a_body", ""),
    "a number for a column": (b'{"columns": {"speed": 1, "wave": [1]}}', "not_a_body", "speed"),
    "NaN": (b'{"columns": {"speed": [NaN], "wave": [1]}}', "not_finite", "speed"),
    "huge number": (b'{"columns": {"speed": [1e999], "wave": [1]}}', "not_a_number", "speed"),
    "not utf-8": (b'{"columns": {"\xff": [1], "wave": [1]}}', "not_a_body", ""),
    "deep": (b'{"columns": ' + b"[" * 900 + b"]" * 900 + b"}", "not_a_body", ""),
    "doubled column": (b'{"columns": {"speed": [1], "wave": [1], "speed": [2]}}', "doubled_column", "speed"),
    "doubled in a row": (b'{"rows": [{"speed": 1, "wave": 1, "wave": 2}]}', "doubled_column", "wave"),
    "doubled escape": (b'{"columns": {"speed": [1], "wave": [1], "\\u0073peed": [2]}}', "doubled_column", "speed"),
    "doubled columns": (
        b'{"columns": {"speed": [9]}, "columns": {"speed": [1], "wave": [1]}}',
        "doubled_column",
        "columns",
    ),
    "doubled wish": (
        b'{"columns": {"speed": [1], "wave": [1]}, "defer_above": 1, "defer_above": 2}',
        "doubled_column",
        "defer_above",
    ),
    "no rows": (b'{"rows": []}', "no_rows", "rows"),
    "no values": (b'{"columns": {"speed": [], "wave": []}}', "no_rows", "rows"),
    "unequal rows": (b'{"rows": [{"speed": 1, "wave": 1}, {"speed": 1}]}', "unequal_rows", "wave"),
    "unequal columns": (b'{"columns": {"speed": [1, 2], "wave": [1]}}', "unequal_lengths", "wave"),
    "missing": (b'{"columns": {"speed": [1]}}', "missing_column", "wave"),
    "unknown": (b'{"columns": {"speed": [1], "wave": [1], "draft": [1]}}', "unknown_column", "draft"),
    "unit": (json.dumps(GOOD | {"units": {"speed": "kn"}}).encode(), "wrong_unit", "speed"),
    "unit of nothing": (json.dumps(GOOD | {"units": {"draft": "m"}}).encode(), "unknown_column", "draft"),
    "range": (b'{"rows": [{"speed": 21, "wave": 1}]}', "out_of_range", "speed"),
    "beyond float32": (b'{"rows": [{"speed": 1e300, "wave": 1}]}', "out_of_range", "speed"),
    "unknown head": (json.dumps(GOOD | {"defer_above": {"speed": 1.0}}).encode(), "unknown_head", "defer_above"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_bodies_that_are_refused(name: str) -> None:
    content, code, field = REFUSED[name]
    status, error = await refused(content)
    assert (status, error["code"], error.get("field", "")) == (422, code, field), error


async def test_the_document_says_what_the_service_takes() -> None:
    async with serving(TABULAR) as served:
        document = (await served.http.get("/v1/openapi.json")).json()
        features = (await served.http.get("/v1/schema")).json()["features"]
        schemas = document["components"]["schemas"]
        assert [set(feature) for feature in features] == [set(schemas["Feature"]["properties"])] * 2
        call = document["paths"]["/v1/predict"]["post"]
        for content in (call["requestBody"]["content"], call["responses"]["200"]["content"]):
            assert set(content) == {"application/json"}  # others would be texts in unions of generated clients
        assert "application/protobuf" in call["description"]
        assert "Retry-After" in call["responses"]["429"]["headers"]
        names = ("ColumnsRequest", "RowsRequest", "MatrixRequest")
        assert schemas["Request"] == {"oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in names]}
        for name in names:
            wishes = schemas[name]["properties"]
            assert {"type": "null"} in wishes["purpose"]["anyOf"]
            assert {"type": "null"} in wishes["defer_above"]["oneOf"]
        answer = await post(served, GOOD | {"purpose": None, "defer_above": None})
        assert (answer.status_code, answer.json()["purpose"]) == (200, "decide")


QUOTED = {
    '["fast"]': ("not_a_number", '"fast"', 0),
    "[1, true]": ("not_a_number", "true", 1),
    "[1, 2, [3]]": ("not_a_number", "[3]", 2),
    "[1e999]": ("not_a_number", "1e999", 0),
    "[1, 1" + "0" * 400 + "]": ("not_a_number", "1" + "0" * 38 + "…", 1),
    "[1e39]": ("out_of_range", "1e+39", 0),
    "[1, null]": ("not_finite", "null", 1),
}


@pytest.mark.parametrize("values", QUOTED, ids=lambda values: values[:12])
async def test_a_refused_value_is_told_as_it_was_sent(values: str) -> None:
    code, value, index = QUOTED[values]
    count = len(json.loads(values))
    parts = [json.dumps(part) for part in json.loads(values)] if "e999" not in values else ["1e999"]
    for form in (
        f'{{"columns": {{"wave": [{", ".join("1" * count)}], "speed": {values}}}}}',
        f'{{"rows": [{", ".join(f"""{{"wave": 1, "speed": {part}}}""" for part in parts)}]}}',
    ):
        status, error = await refused(form.encode())
        assert (status, error["code"], error["field"]) == (422, code, "speed")
        assert (error["index"], error["value"]) == (index, value)
        assert error["value"] in error["message"]


def test_a_wrong_value_in_a_large_body_is_still_found() -> None:
    values = ["1"] * 600_000 + ["true"]
    with pytest.raises(InvalidInput) as caught:
        READ(f'{{"columns": {{"speed": [{",".join(values)}]}}}}'.encode())
    assert (caught.value.code, caught.value.field, caught.value.index) == ("not_a_number", "speed", 600_000)
    rows = ['{"speed": 1}'] * 100_000 + ['{"speed": true}']
    with pytest.raises(InvalidInput) as caught:
        READ(f'{{"rows": [{",".join(rows)}]}}'.encode())
    assert (caught.value.code, caught.value.index) == ("not_a_number", 100_000)


async def test_a_body_as_deep_as_the_stack_is_refused() -> None:
    async with serving(TABULAR) as served:
        response = await post(served, b'{"columns": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")
        assert (response.status_code, response.json()["error"]["code"]) == (422, "not_a_body")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/vnd.bentoml+pickle",
        "application/x-pickle",
        "application/octet-stream",
        "text/csv",
        "multipart/form-data",
    ],
)
async def test_other_content_types_are_refused(content_type: str) -> None:
    status, error = await refused(b"cos\nsystem\n(S'true'\ntR.", content_type=content_type)
    assert (status, error["code"], error["value"]) == (415, "content_type", content_type)
    async with serving(TABULAR) as served:
        job = await served.http.post("/v1/jobs", content=b"x", headers={"content-type": content_type})
        assert job.status_code == 415


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON", None])
async def test_json_by_any_of_its_names_is_taken(content_type: str | None) -> None:
    async with serving(TABULAR) as served:
        headers = {} if content_type is None else {"content_type": content_type}
        assert (await post(served, GOOD, **headers)).status_code == 200


async def test_large_and_compressed_bodies_are_refused() -> None:
    status, error = await refused(b" " * 2001)
    assert (status, error["code"], error["allowed"]) == (413, "body_too_large", "[0, 2000]")
    status, error = await refused(b"x", content_encoding="gzip")
    assert (status, error["code"]) == (415, "content_encoding")

    async def endless() -> Any:
        while True:
            yield b" " * 500

    async with serving(TABULAR, max_message_bytes=2000) as served:
        response = await served.http.post("/v1/predict", content=endless())
        assert (response.status_code, response.headers["connection"]) == (413, "close")
        odd = await served.http.post("/v1/predict", content=b"{}", headers=[(b"content-length", b"\xb2")])
        assert odd.status_code == 422
        many = await served.http.post("/v1/jobs", content=b" " * 2001)
        assert many.status_code == 413


async def test_too_many_rows_are_refused() -> None:
    async with serving(TABULAR) as served:
        response = await post(served, {"columns": {"speed": [1.0] * 1001, "wave": [1.0] * 1001}})
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_many_rows")


def test_names_full_of_colons_take_no_time() -> None:
    """Looking for doubled names is linear, else a few megabytes would hold the service for hours."""
    content = json.dumps({"columns": {f"a:{index}": [] for index in range(50_000)}}).encode()
    start = time.process_time()
    request, _ = READ(content)
    assert time.process_time() - start < 10, "of the processor; 0.2 s are usual"
    assert len(request.form.columns) == 50_000


@contextmanager
def one_loop() -> Iterator[Any]:
    with asyncio.Runner() as runner:
        entered = serving(TABULAR)
        served = runner.run(entered.__aenter__())
        try:
            yield lambda content, **headers: runner.run(post(served, content, **headers))
        finally:
            runner.run(entered.__aexit__(None, None, None))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["speed", "wave", "a:b", ""]), inner, max_size=3)
    ),
    max_leaves=12,
)
bodies = st.one_of(
    st.binary(max_size=60),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(
        st.sampled_from(["columns", "rows", "matrix", "units", "purpose", "defer_above", "members"]),
        json_values,
        max_size=4,
    ).map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda text, cut, insert: text[:cut] + insert + text[cut:],
        st.sampled_from([json.dumps(GOOD).encode(), json.dumps(ROWS).encode()]),
        st.integers(0, 60),
        st.binary(max_size=4)
        | st.sampled_from([b"null", b"1e999", b"{}", b'"a":', b"\\ud800", b"NaN", b"-0", b"9" * 400]),
    ),
)
types = st.sampled_from(["application/json", "application/protobuf"])


def test_no_body_makes_the_service_fail() -> None:
    with one_loop() as ask:

        @given(bodies, types)
        @settings(max_examples=250, deadline=None)
        def fuzz(content: bytes, content_type: str) -> None:
            response = ask(content, content_type=content_type)
            assert response.status_code in (200, 422), response.text
            if response.status_code == 422:
                error = response.json()["error"]
                assert error["code"]
                assert error["message"]

        fuzz()


@given(st.lists(st.floats(0, 20, width=32), min_size=1, max_size=5))
def test_numbers_arrive_as_they_were_written(values: list[float]) -> None:
    body = json.dumps({"columns": {"speed": values, "wave": values}}).encode()
    request, options = READ(body)
    assert np.frombuffer(request.form.values, "<f4").reshape(-1, 2).T.tolist() == [values, values]
    assert (options.purpose, dict(options.defer_above), request.members) == (None, {}, False)


def test_a_number_is_no_wish_for_two_heads() -> None:
    read = reader(("level", "kind"), SCHEMA)
    with pytest.raises(InvalidInput) as caught:
        read(json.dumps(GOOD | {"defer_above": 1.0}).encode())
    assert (caught.value.code, caught.value.allowed) == ("head_needed", "level, kind")
    _, options = read(json.dumps(GOOD | {"defer_above": {"level": 1.0}}).encode())
    assert dict(options.defer_above) == {"level": 1.0}


async def test_large_bodies_are_worked_on_beside_the_event_loop() -> None:
    async with serving(TABULAR) as served:
        task, http = served.tenant.pipeline.task, served.tenant.http
        where: dict[str, str] = {}
        for owner, name in ((task, "expand"), (http, "read_json"), (http, "answer_json")):
            spy(owner, name, where)
        few = {"columns": {"speed": [1.0] * 10, "wave": [1.0] * 10}}
        assert (await served.http.post("/v1/predict", json=few)).status_code == 200
        assert set(where.values()) == {threading.main_thread().name}
        many = json.dumps({"columns": {"speed": [1.0] * 1000, "wave": [1.0] * 1000}}, indent=32)
        answer = await served.http.post("/v1/predict", content=many.encode())
        assert len(answer.json()["power"]["mean"]) == 1000
        assert len(where) == 3
        assert all(thread.startswith("offload") for thread in where.values())
        refusal = many.replace("1.0", "-1.0", 1).encode()
        assert (await served.http.post("/v1/predict", content=refusal)).json()["error"]["code"] == "out_of_range"


def spy(owner: Any, name: str, where: dict[str, str]) -> None:
    """Notes in which thread a function of a (frozen) owner runs."""
    function = getattr(owner, name)

    def noted(*args: Any) -> Any:
        where[name] = threading.current_thread().name
        return function(*args)

    object.__setattr__(owner, name, noted)
