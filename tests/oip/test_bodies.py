"""Bodies over HTTP: JSON with the contents of tensors behind it, and requests that are none."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import numpy as np
import pytest

from tests.contract.serving import Served, serving
from tests.contract.toys import rows, volume
from tests.services.tabular import TABULAR

PATH = "/v2/models/volume/infer"
SLICES = np.array([[10, 60, 80], [10, 20, 80]], np.float32)
INPUT = {"name": "slices", "shape": [2, 3], "datatype": "FP32"}


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serving(volume.TOY) as service:
        yield service


def body(document: Any, *contents: bytes, header: int | str | None = None, **headers: str) -> dict[str, Any]:
    """What a client is to post."""
    head = document if isinstance(document, bytes) else json.dumps(document).encode()
    length = {} if header is None and not contents else {"inference-header-content-length": str(header or len(head))}
    return {"content": b"".join((head, *contents)), "headers": length | headers}


def binary(size: int = SLICES.nbytes, **more: Any) -> dict[str, Any]:
    return INPUT | {"parameters": {"binary_data_size": size}} | more


async def refusal(served: Served, *args: Any, **kwargs: Any) -> tuple[int, str]:
    response = await served.http.post(PATH, **body(*args, **kwargs))
    document = response.json()
    assert document["error"] == document["detail"]["message"]
    return response.status_code, document["detail"]["code"]


async def test_bytes_in_and_bytes_out(served: Served) -> None:
    outputs = [
        {"name": "mask", "parameters": {"binary_data": True}},
        {"name": "burden_says"},
        {"name": "unit_ids", "parameters": {"binary_data": True}},
    ]
    response = await served.http.post(PATH, **body({"inputs": [binary()], "outputs": outputs}, SLICES.tobytes()))
    length = int(response.headers["inference-header-content-length"])
    document, rest = json.loads(response.content[:length]), response.content[length:]
    tensors = {tensor["name"]: tensor for tensor in document["outputs"]}
    assert tensors["burden_says"]["data"] == [3.0]
    sizes = {
        name: tensor["parameters"]["binary_data_size"] for name, tensor in tensors.items() if "parameters" in tensor
    }
    assert sum(sizes.values()) == len(rest)
    assert list(rest[: sizes["mask"]]) == [0, 1, 1, 0, 0, 1]
    assert rest[-sizes["unit_ids"] :][4:].decode().startswith("0000000000000abc-")
    assert response.headers["content-type"] == "application/octet-stream"


async def test_all_outputs_as_bytes_but_one(served: Served) -> None:
    request = {
        "inputs": [INPUT | {"data": SLICES.tolist()}],
        "parameters": {"binary_data_output": True},
        "outputs": [{"name": "deferred"}, {"name": "burden_says", "parameters": {"binary_data": False}}],
    }
    response = await served.http.post(PATH, **body(request))
    document = json.loads(response.content[: int(response.headers["inference-header-content-length"])])
    assert ["data" in tensor for tensor in document["outputs"]] == [True, False]


JSON = {"inputs": [INPUT | {"data": SLICES.tolist()}]}


@pytest.mark.parametrize(
    ("given", "contents", "header", "code"),
    [
        (b"{", (), None, "not_a_body"),
        (b"", (), None, "not_a_body"),
        ({}, (), None, "not_a_body"),
        ({"inputs": []}, (), None, "missing"),
        ({"inputs": [INPUT]}, (), None, "missing"),
        (JSON | {"parametres": {}}, (), None, "not_a_body"),
        (JSON | {"id": 7}, (), None, "not_a_body"),
        (JSON | {"id": "x" * 5000}, (), None, "too_long"),
        (JSON, (), 10**6, "wrong_length"),
        (JSON, (), "many", "not_a_number"),
        (JSON, (b"more",), None, "wrong_length"),
        ({"inputs": [binary(SLICES.nbytes + 4)]}, (SLICES.tobytes(),), None, "wrong_length"),
        ({"inputs": [binary(-4)]}, (SLICES.tobytes(),), None, "wrong_length"),
        ({"inputs": [binary(SLICES.nbytes - 4)]}, (SLICES.tobytes()[:-4],), None, "wrong_length"),
        ({"inputs": [binary(data=[1])]}, (SLICES.tobytes(),), None, "two_inputs"),
        ({"inputs": [INPUT | {"shape": [-1, 3], "data": []}]}, (), None, "wrong_shape"),
        ({"inputs": [INPUT | {"shape": [2**62, 2**62], "data": []}]}, (), None, "wrong_shape"),
        ({"inputs": [INPUT | {"shape": [2**62, 0], "data": []}]}, (), None, "wrong_shape"),
        ({"inputs": [INPUT | {"shape": [2**30, 0], "data": []}]}, (), None, "wrong_shape"),
        ({"inputs": [INPUT | {"datatype": "FP33", "data": [1]}]}, (), None, "dtype"),
        ({"inputs": [INPUT | {"parameters": {"units": "HU"}, "data": [1]}]}, (), None, "unknown_parameter"),
        (JSON | {"outputs": [{"name": "mask"}, {"name": "mask"}]}, (), None, "doubled_field"),
        (JSON | {"parameters": {"purpose": ["explore"]}}, (), None, "bad_parameter"),
    ],
)
async def test_bodies_that_are_none(
    served: Served, given: Any, contents: tuple[bytes, ...], header: Any, code: str
) -> None:
    assert await refusal(served, given, *contents, header=header) == (422, code)
    assert served.probe.executed == []


async def test_other_kinds_of_bodies_are_refused(served: Served) -> None:
    for kind in ("application/vnd.bentoml+pickle", "application/x-www-form-urlencoded"):
        assert await refusal(served, JSON, **{"content-type": kind}) == (415, "content_type")


async def test_paths_that_are_none(served: Served) -> None:
    async def get(path: str, method: str = "GET") -> httpx.Response:
        return await served.http.request(method, path)

    for path, status, code in (
        ("/v2/models/other", 404, "no_model"),
        ("/v2/models/volume/versions/9/ready", 404, "no_model"),
        ("/v2/nothing", 404, "no_route"),
        ("/v2/models/volume/infer", 405, "method_not_allowed"),
        ("/v2/systemsharedmemory/status", 501, "unsupported"),
    ):
        response = await get(path)
        assert (response.status_code, response.json()["detail"]["code"]) == (status, code)
        assert isinstance(response.json()["error"], str)
    assert (await get("/v2/models/volume/versions/1/stats")).json()["model_stats"][0]["version"] == "1"
    assert (await get("/v2/models/stats")).json() == (await get("/v2/models/volume/stats")).json()
    assert (await get("/v2/repository/index", "POST")).json()[0]["state"] == "READY"


async def test_a_unit_that_is_said_is_checked() -> None:
    async with serving(rows.TOY) as served:
        depth = {"name": "depth", "shape": [1], "datatype": "FP64", "data": [10]}
        tilt = depth | {"name": "tilt", "data": [None]}
        for unit, status in (("m", 200), ("ft", 422)):
            request = {"inputs": [depth | {"parameters": {"unit": unit}}, tilt]}
            response = await served.http.post("/v2/models/rows/infer", json=request)
            assert response.status_code == status, response.text
        assert response.json()["detail"]["code"] == "wrong_unit"


async def test_metadata_tell_units_and_what_is_optional() -> None:
    async with serving(rows.TOY) as served:
        metadata = (await served.http.get("/v2/models/rows")).json()
        config = (await served.http.get("/v2/models/rows/config")).json()
    inputs = {tensor["name"]: tensor for tensor in metadata["inputs"]}
    assert inputs["rows"]["shape"] == [-1, 2]
    assert inputs["depth"]["parameters"]["unit"] == "m"
    assert "missing: NaN" in inputs["tilt"]["parameters"]["description"]
    assert all(tensor["parameters"]["optional"] for tensor in inputs.values())
    outputs = {tensor["name"]: tensor for tensor in metadata["outputs"]}
    assert outputs["level_total"]["parameters"]["unit"] == "m²"
    assert outputs["kind_class"]["datatype"] == "INT32"
    assert outputs["level_member_means"]["parameters"]["default"] is False
    assert config["parameters"]["depth.unit"]["string_value"] == "m"
    assert {tensor["name"] for tensor in config["input"] if tensor["optional"]} == set(inputs)


@pytest.mark.parametrize("withhold", [False, True])
async def test_members_do_not_give_away_what_is_withheld(withhold: bool) -> None:
    async with serving(TABULAR, withhold=withhold) as served:
        packed = {"name": "rows", "shape": [2.0, 2], "datatype": "FP32", "data": [2.0, 0.5, 3.0, 9.0]}
        request = {"inputs": [packed], "outputs": [{"name": "member_means"}, {"name": "deferred"}]}
        response = await served.http.post("/v2/models/tabular/infer", json=request)
        outputs = {tensor["name"]: tensor for tensor in response.json()["outputs"]}
    assert outputs["deferred"]["data"] == [False, True]
    assert outputs["member_means"]["shape"] == [2, 2]
    assert [mean is None for mean in outputs["member_means"]["data"]] == [withhold] * 4


async def test_packed_rows_and_columns_are_not_mixed() -> None:
    async with serving(rows.TOY) as served:
        packed = {"name": "rows", "shape": [1, 2], "datatype": "INT32", "data": [[10, 1.0]]}
        depth = {"name": "depth", "shape": [1], "datatype": "FP32", "data": [10]}
        good = await served.http.post("/v2/models/rows/infer", json={"inputs": [packed]})
        assert good.status_code == 200, good.text
        for inputs, parameters, code in (
            ([packed, depth], {}, "two_inputs"),
            ([], {}, "no_rows"),
            ([packed], {"schema_hash": "0123"}, "schema_mismatch"),
        ):
            request = {"inputs": inputs, "parameters": parameters}
            response = await served.http.post("/v2/models/rows/infer", json=request)
            assert response.json()["detail"]["code"] == code
