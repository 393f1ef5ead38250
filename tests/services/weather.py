"""A weather artefact behind both protocols, as a process serves it but for the sockets of HTTP."""

import json
from collections.abc import Sequence
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from demur.v1 import common_pb2, weather_pb2
from demur.v1.weather_pb2_grpc import WeatherServiceStub
from tests.contract.serving import detail
from tests.models.weather.tiny import SCHEMA
from tests.services.tasks.served_task import Json, ServedTask

Rows = NDArray[np.float32]


class Served(ServedTask):
    """A running weather service."""

    task, stub_type, lanes = "weather", WeatherServiceStub, 1
    request, stream_request = weather_pb2.WeatherPredictRequest, weather_pb2.WeatherStreamRequest

    async def json(self, body: Json | bytes) -> tuple[int, Json]:
        """Status and answer of a JSON question; a refusal is its error. Numbers that JSON has not fail the test."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = await self.http.post("/v1/predict", content=content)
        document = json.loads(response.content, parse_constant=_no_constant)
        return response.status_code, document.get("error", document)

    async def answer(self, rows: Rows, **wishes: Any) -> Json:
        status, document = await self.json(body(rows) | wishes)
        assert status == 200, document
        return document

    async def refusal(self, given: Json | bytes) -> Json:
        status, error = await self.json(given)
        assert status in (413, 422), error
        return error | {"status": status}

    async def message(self, rows: Any, **wishes: Any) -> weather_pb2.WeatherPredictResponse:
        """The answer over gRPC to packed rows, or to a ``common_pb2.Rows``."""
        message_rows = packed(rows) if isinstance(rows, np.ndarray) else rows
        return await self.stub.Predict(self.request(rows=message_rows, **wishes))

    async def refused(self, rows: Any, **wishes: Any) -> Json:
        """The typed detail of a refusal over gRPC, with its code."""
        try:
            await self.message(rows, **wishes)
        except grpc.aio.AioRpcError as error:
            return detail(error) | {"status": error.code().name}
        raise AssertionError("it was answered")


serving = Served.serving


def packed(rows: Rows) -> common_pb2.Rows:
    content = np.ascontiguousarray(rows, "<f4").tobytes()
    return common_pb2.Rows(packed=common_pb2.PackedRows(row_count=len(rows), values=content))


def named(rows: Rows, names: Sequence[str] = SCHEMA.names, **more: Sequence[float]) -> common_pb2.Rows:
    """Columns by name, and further ones."""
    columns = [common_pb2.NamedColumn(name=n, values=rows[:, i].tolist()) for i, n in enumerate(names)]
    columns += [common_pb2.NamedColumn(name=n, values=values) for n, values in more.items()]
    return common_pb2.Rows(named=common_pb2.NamedColumns(columns=columns))


def body(rows: Rows) -> Json:
    """Columns by name; NaN is null."""
    values = np.where(np.isnan(rows), None, rows.astype(object))
    return {"columns": {name: values[:, index].tolist() for index, name in enumerate(SCHEMA.names)}}


def by_row(rows: Rows, **more: Any) -> Json:
    """A list of objects, each with further values."""
    columns = body(rows)["columns"]
    return {"rows": [dict(zip(columns, values, strict=True)) | more for values in zip(*columns.values(), strict=True)]}


def numbers(content: bytes, *shape: int) -> Rows:
    """Packed float32."""
    return np.frombuffer(content, "<f4").reshape(shape or (-1,))


def _no_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")
