"""Small artefacts behind both protocols."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from demur.v1 import common_pb2, motion_pb2
from demur.v1.motion_pb2_grpc import MotionServiceStub
from models.artefact import Artefact
from services.app.assembly import Assembled
from tests.contract.serving import detail
from tests.services.served import artefact_served
from tests.services.tasks.motion import straight_artefact

Json = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """A running motion service."""

    assembled: Assembled
    channel: grpc.aio.Channel
    stub: MotionServiceStub
    http: httpx.AsyncClient

    async def post(self, body: Json) -> httpx.Response:
        """JSON; bytes are sent as base64."""
        return await self.http.post("/v1/predict", json=_texts(body))

    async def form(self, *, accept: str = "application/json", **fields: Any) -> httpx.Response:
        """A form; fields of bytes are files."""
        files = {name: (name, value) for name, value in fields.items() if isinstance(value, bytes)}
        texts = {name: value for name, value in fields.items() if not isinstance(value, bytes)}
        return await self.http.post("/v1/predict", files=files, data=texts, headers={"accept": accept})

    async def answer(self, **body: Any) -> Json:
        response = await self.post(body)
        assert response.status_code == 200, response.text
        found: Json = response.json()
        return found

    async def message(self, **fields: Any) -> motion_pb2.MotionPredictResponse:
        return await self.stub.Predict(motion_pb2.MotionPredictRequest(**fields))

    async def refusal(
        self, *, status: tuple[int, ...] = (413, 422), during: AbstractContextManager[Any] | None = None, **body: Any
    ) -> Json:
        """The error, which both protocols must word alike.

        Args:
            during: surrounds the two calls, without what a client does before them.
        """
        content = json.dumps(_texts(body)).encode()
        message = motion_pb2.MotionPredictRequest(**_fields(body))
        with during or nullcontext():
            response = await self.http.post(
                "/v1/predict", content=content, headers={"content-type": "application/json"}
            )
            with pytest.raises(grpc.aio.AioRpcError) as other:
                await self.stub.Predict(message)
        assert response.status_code in status, response.text
        error: Json = response.json()["error"]
        said = detail(other.value)
        assert {name: said[name] for name in error} == error
        return error

    async def streamed(self, *requests: Json, begin: common_pb2.StreamBegin | None = None) -> list[Any]:
        """All frames that answer requests, each a chunk."""

        async def frames() -> AsyncIterator[Any]:
            if begin is not None:
                yield motion_pb2.MotionStreamRequest(begin=begin)
            for number, fields in enumerate(requests):
                request = motion_pb2.MotionPredictRequest(**fields)
                yield motion_pb2.MotionStreamRequest(chunk=motion_pb2.MotionChunk(sequence=number, request=request))

        return [frame async for frame in self.stub.PredictStream(frames())]


def _texts(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _texts(one) for name, one in value.items()}
    return [_texts(one) for one in value] if isinstance(value, list) else value


def _fields(body: Json) -> Json:
    """The fields of the message that a JSON body amounts to."""
    given = dict(body)
    agents = given.pop("agents", [])
    if "tensor" in given:
        given["tensor"] = {"values": given["tensor"], "agents": agents}
    if "rendered" in given:
        given["rendered"] = {"files": given["rendered"], "agents": agents}
    return given


@asynccontextmanager
async def serving(artefact: Artefact, home: Path | None = None, **settings: Any) -> AsyncIterator[Served]:
    """Serves an artefact; decisions are recorded where a home is given."""
    async with artefact_served(artefact, "motion", home, **({"lanes": 2} | settings)) as (assembled, channel, http):
        yield Served(assembled, channel, MotionServiceStub(channel), http)


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """Three members."""
    return straight_artefact.artefact(tmp_path_factory.mktemp("three"), members=3)


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """A single model."""
    return straight_artefact.artefact(tmp_path_factory.mktemp("one"), members=1)
