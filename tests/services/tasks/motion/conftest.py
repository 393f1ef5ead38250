"""Small artefacts behind both protocols."""

import base64
import json
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import grpc
import httpx
import pytest

from demur.v1 import common_pb2, motion_pb2
from demur.v1.motion_pb2_grpc import MotionServiceStub
from models.artefact import Artefact
from tests.services.tasks.motion import straight_artefact
from tests.services.tasks.served_task import Json, ServedTask, answered, refused_alike


class Served(ServedTask):
    """A running motion service."""

    task, stub_type = "motion", MotionServiceStub
    request, stream_request = motion_pb2.MotionPredictRequest, motion_pb2.MotionStreamRequest

    async def post(self, body: Json) -> httpx.Response:
        """JSON; bytes are sent as base64."""
        return await self.http.post("/v1/predict", json=_texts(body))

    async def form(self, *, accept: str = "application/json", **fields: Any) -> httpx.Response:
        """A form; fields of bytes are files."""
        return await self.sent_form(accept, fields)

    async def answer(self, **body: Any) -> Json:
        return answered(await self.post(body))

    async def message(self, **fields: Any) -> motion_pb2.MotionPredictResponse:
        return await self.stub.Predict(self.request(**fields))

    async def refusal(self, *, during: AbstractContextManager[Any] | None = None, **body: Any) -> Json:
        """The error, which both protocols must word alike.

        Args:
            during: surrounds the two calls, without what a client does before them.
        """
        content = json.dumps(_texts(body)).encode()
        message = self.request(**_fields(body))
        with during or nullcontext():
            response = await self.http.post(
                "/v1/predict", content=content, headers={"content-type": "application/json"}
            )
            with pytest.raises(grpc.aio.AioRpcError) as other:
                await self.stub.Predict(message)
        return refused_alike(response, other.value)

    async def streamed(self, *requests: Json, begin: common_pb2.StreamBegin | None = None) -> list[Any]:
        """All frames that answer requests, each a chunk."""
        chunks = [{"sequence": number, "request": self.request(**fields)} for number, fields in enumerate(requests)]
        return await self.frames(*(self.stream_request(chunk=chunk) for chunk in chunks), begin=begin)


def _texts(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _texts(member) for name, member in value.items()}
    return [_texts(item) for item in value] if isinstance(value, list) else value


def _fields(body: Json) -> Json:
    """The fields of the message that a JSON body amounts to."""
    fields = dict(body)
    agents = fields.pop("agents", [])
    if "tensor" in fields:
        fields["tensor"] = {"values": fields["tensor"], "agents": agents}
    if "rendered" in fields:
        fields["rendered"] = {"files": fields["rendered"], "agents": agents}
    return fields


serving = Served.serving


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """Three members."""
    return straight_artefact.artefact(tmp_path_factory.mktemp("three"), members=3)


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """A single model."""
    return straight_artefact.artefact(tmp_path_factory.mktemp("one"), members=1)
