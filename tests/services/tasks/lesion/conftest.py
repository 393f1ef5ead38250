"""Small artefacts behind both protocols."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest

from demur.v1 import common_pb2, lesion_pb2
from demur.v1.lesion_pb2_grpc import LesionServiceStub
from models.artefact import Artefact
from services.app.assembly import Assembled
from tests.contract.serving import detail
from tests.models.lesion import bright
from tests.services.served import artefact_served

Json = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """A running lesion service."""

    assembled: Assembled
    stub: LesionServiceStub
    http: httpx.AsyncClient

    async def form(self, flair: bytes, *, accept: str = "application/json", **fields: Any) -> httpx.Response:
        """A form; fields of bytes are files."""
        files: Json = {"flair": ("anybody's name.nii.gz", flair)}
        files |= {name: (name, value) for name, value in fields.items() if isinstance(value, bytes)}
        texts = {name: value for name, value in fields.items() if not isinstance(value, bytes)}
        return await self.http.post("/v1/predict", files=files, data=texts, headers={"accept": accept})

    async def answer(self, flair: bytes, **fields: Any) -> Json:
        response = await self.form(flair, **fields)
        assert response.status_code == 200, response.text
        found: Json = response.json()
        return found

    async def refusal(self, flair: bytes, **fields: Any) -> Json:
        """The error, which both protocols must word alike."""
        response = await self.form(flair, **fields)
        assert response.status_code in (413, 422), response.text
        error: Json = response.json()["error"]
        files = {name: value for name, value in fields.items() if isinstance(value, bytes)}
        try:
            await self.stub.Predict(lesion_pb2.LesionPredictRequest(flair=flair, **files))
        except grpc.aio.AioRpcError as other:
            said = detail(other)
            assert {name: said[name] for name in error} == error
            return error
        raise AssertionError("gRPC answered it")

    async def message(self, flair: bytes, **wishes: Any) -> lesion_pb2.LesionPredictResponse:
        return await self.stub.Predict(lesion_pb2.LesionPredictRequest(flair=flair, **wishes))

    async def streamed(self, *scans: Json, begin: common_pb2.StreamBegin | None = None, piece: int = 1000) -> list[Any]:
        """All frames that answer scans sent in pieces."""

        async def frames() -> AsyncIterator[Any]:
            if begin is not None:
                yield lesion_pb2.LesionStreamRequest(begin=begin)
            for number, scan in enumerate(scans):
                for frame in pieces(number, scan, piece):
                    yield frame

        return [frame async for frame in self.stub.PredictStream(frames())]


def pieces(number: int, scan: Json, size: int) -> list[Any]:
    """The frames of a scan; its files take turns."""
    wishes = {name: scan[name] for name in ("name", "maps", "encoding") if name in scan}
    head = lesion_pb2.LesionScan(sequence=number, **wishes)
    found = [lesion_pb2.LesionStreamRequest(scan=head)]
    inputs = {"flair": 1, "t1": 2, "brain_mask": 3}
    files = {kind: scan[name] for name, kind in inputs.items() if name in scan}
    for start in range(0, max(map(len, files.values()), default=0), size):
        for kind, content in files.items():
            if part := content[start : start + size]:
                piece = lesion_pb2.LesionPiece(input=kind, content=part)
                found.append(lesion_pb2.LesionStreamRequest(piece=piece))
    return [*found, lesion_pb2.LesionStreamRequest(end=lesion_pb2.LesionScanEnd())]


@asynccontextmanager
async def serving(artefact: Artefact, home: Path | None = None, **settings: Any) -> AsyncIterator[Served]:
    """Serves an artefact; decisions are recorded where a home is given."""
    async with artefact_served(artefact, "lesion", home, **({"lanes": 2} | settings)) as (assembled, channel, http):
        yield Served(assembled, LesionServiceStub(channel), http)


@pytest.fixture(scope="session")
def three(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """Three members on FLAIR."""
    return bright.artefact(tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="session")
def one(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """A single model."""
    return bright.artefact(tmp_path_factory.mktemp("one"), members=1, cases=4)


@pytest.fixture(scope="session")
def both(tmp_path_factory: pytest.TempPathFactory) -> Artefact:
    """Two members on FLAIR and T1."""
    return bright.artefact(tmp_path_factory.mktemp("both"), members=2, channels=("flair", "t1"), cases=4)
