"""Answers that are larger than their caller says it takes are refused in words."""

from typing import Any

import grpc
import numpy as np
import pytest

from demur.v1 import common_pb2, vessel_pb2
from services.transport.grpc.limits import LIMIT_KEY as KEY
from services.transport.grpc.limits import UNCHECKED_BYTES as SMALL_BYTES
from tests.contract.serving import detail as seen
from tests.contract.serving import serving
from tests.services.tabular import MAX_ROWS, TABULAR


async def ask(limit: str | None, rows: int = MAX_ROWS, **options: Any) -> Any:
    values = np.tile(np.array([2, 0.5], "<f4"), (rows, 1)).tobytes()
    packed = common_pb2.PackedRows(row_count=rows, values=values)
    request = vessel_pb2.VesselPredictRequest(
        rows=common_pb2.Rows(packed=packed), plain=True, members=True
    ).SerializeToString()
    async with serving(TABULAR) as served:
        call = served.channel.unary_unary("/demur.v1.VesselService/Predict")
        return await call(request, metadata=None if limit is None else ((KEY, limit),), **options)


async def test_an_answer_within_the_limit_is_sent() -> None:
    size = len(await ask(None))
    assert size > SMALL_BYTES
    assert len(await ask(str(size + 1000))) == pytest.approx(size, abs=1000)  # ids differ in their digits


@pytest.mark.parametrize(
    ("limit", "code", "status"),
    [
        (str(SMALL_BYTES), "answer_too_large", "RESOURCE_EXHAUSTED"),
        ("4 MB", "bad_parameter", "INVALID_ARGUMENT"),
        ("0", "bad_parameter", "INVALID_ARGUMENT"),
        ("9" * 5000, "bad_parameter", "INVALID_ARGUMENT"),
    ],
)
async def test_a_refusal_says_what_to_do(limit: str, code: str, status: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask(limit)
    error = seen(caught.value)
    assert (caught.value.code().name, error["code"], error["field"], error["unit"]) == (status, code, KEY, "bytes")
    if code == "answer_too_large":
        assert "PredictStream" in error["message"]
        assert int(error["value"]) > SMALL_BYTES


async def test_a_small_answer_is_sent_whatever_is_stated() -> None:
    assert len(await ask("1", rows=1)) > 1
