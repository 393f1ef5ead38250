"""Small artefacts behind both protocols."""

from typing import Any

import grpc
import httpx
import pytest

from demur.v1 import common_pb2, translation_pb2
from demur.v1.translation_pb2_grpc import TranslationServiceStub
from models.artefact import Artefact
from tests.models.translation import small_ensemble
from tests.services.tasks.served_task import Json, ServedTask, answered, refused_alike

TEXT = "The dog sees a house today. She likes the moon (77).\n\n- My brother finds a book at night! 😀"
"""Three sentences of the made-up language."""


class Served(ServedTask):
    """A running translation service."""

    task, stub_type = "translation", TranslationServiceStub
    request, stream_request = translation_pb2.TranslationPredictRequest, translation_pb2.TranslationStreamRequest

    async def post(self, body: Any) -> httpx.Response:
        """JSON, or the bytes of a body that shall be JSON."""
        if isinstance(body, bytes):
            return await self.http.post("/v1/predict", content=body, headers={"content-type": "application/json"})
        return await self.http.post("/v1/predict", json=body)

    async def answer(self, *texts: str, **wishes: Any) -> Json:
        return answered(await self.post({"texts": list(texts), **wishes}))

    async def message(self, *texts: str, **fields: Any) -> translation_pb2.TranslationPredictResponse:
        return await self.stub.Predict(self.request(texts=texts, **fields))

    async def refusal(self, *texts: str) -> Json:
        """The error, which both protocols must word alike."""
        response = await self.post({"texts": list(texts)})
        with pytest.raises(grpc.aio.AioRpcError) as other:
            await self.message(*texts)
        return refused_alike(response, other.value)

    async def streamed(self, *chunks: list[str], begin: common_pb2.StreamBegin | None = None) -> list[Any]:
        """All frames that answer chunks."""
        sent = [{"sequence": number, "request": self.request(texts=texts)} for number, texts in enumerate(chunks)]
        return await self.frames(*(self.stream_request(chunk=chunk) for chunk in sent), begin=begin)


serving = Served.serving


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """Three members."""
    return small_ensemble.artefact(tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory, three: Artefact) -> Artefact:
    """A single model: the first of the three."""
    ensemble = small_ensemble.ensemble(three.directory.parent / "parts")
    return small_ensemble.artefact(tmp_path_factory.mktemp("one"), source=ensemble.subset([0]))
