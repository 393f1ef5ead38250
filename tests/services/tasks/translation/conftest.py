"""Small artefacts behind both protocols."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from demur.v1 import common_pb2, translation_pb2
from demur.v1.translation_pb2_grpc import TranslationServiceStub
from models.artefact import Artefact
from services.app.assembly import Assembled
from tests.contract.serving import detail
from tests.models.translation import small_ensemble
from tests.services.served import artefact_served

Json = dict[str, Any]
TEXT = "The dog sees a house today. She likes the moon (77).\n\n- My brother finds a book at night! 😀"
"""Three sentences of the made-up language."""


@dataclass(frozen=True)
class Served:
    """A running translation service."""

    assembled: Assembled
    channel: grpc.aio.Channel
    stub: TranslationServiceStub
    http: httpx.AsyncClient

    async def post(self, body: Any) -> httpx.Response:
        """JSON, or the bytes of a body that shall be JSON."""
        if isinstance(body, bytes):
            return await self.http.post("/v1/predict", content=body, headers={"content-type": "application/json"})
        return await self.http.post("/v1/predict", json=body)

    async def answer(self, *texts: str, **wishes: Any) -> Json:
        response = await self.post({"texts": list(texts), **wishes})
        assert response.status_code == 200, response.text
        found: Json = response.json()
        return found

    async def message(self, *texts: str, **fields: Any) -> translation_pb2.TranslationPredictResponse:
        return await self.stub.Predict(translation_pb2.TranslationPredictRequest(texts=texts, **fields))

    async def refusal(self, *texts: str, status: tuple[int, ...] = (413, 422)) -> Json:
        """The error, which both protocols must word alike."""
        response = await self.post({"texts": list(texts)})
        assert response.status_code in status, response.text
        error: Json = response.json()["error"]
        try:
            await self.message(*texts)
        except grpc.aio.AioRpcError as other:
            said = detail(other)
            assert {name: said[name] for name in error} == error
            return error
        raise AssertionError("gRPC answered it")

    async def streamed(self, *chunks: list[str], begin: common_pb2.StreamBegin | None = None) -> list[Any]:
        """All frames that answer chunks."""

        async def frames() -> AsyncIterator[Any]:
            if begin is not None:
                yield translation_pb2.TranslationStreamRequest(begin=begin)
            for number, texts in enumerate(chunks):
                request = translation_pb2.TranslationPredictRequest(texts=texts)
                chunk = translation_pb2.TranslationChunk(sequence=number, request=request)
                yield translation_pb2.TranslationStreamRequest(chunk=chunk)

        return [frame async for frame in self.stub.PredictStream(frames())]


@asynccontextmanager
async def serving(artefact: Artefact, home: Path | None = None, **settings: Any) -> AsyncIterator[Served]:
    """Serves an artefact; decisions are recorded where a home is given."""
    async with artefact_served(artefact, "translation", home, **({"lanes": 2} | settings)) as (
        assembled,
        channel,
        http,
    ):
        yield Served(assembled, channel, TranslationServiceStub(channel), http)


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """Three members."""
    return small_ensemble.artefact(tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory, three: Artefact) -> Artefact:
    """A single model: the first of the three."""
    found = small_ensemble.ensemble(three.directory.parent / "parts")
    return small_ensemble.artefact(tmp_path_factory.mktemp("one"), source=found.subset([0]))
