"""Small artefacts behind both protocols."""

from collections.abc import Iterator
from typing import Any

import grpc
import httpx
import pytest

from demur.v1 import common_pb2, lesion_pb2
from demur.v1.lesion_pb2_grpc import LesionServiceStub
from models.artefact import Artefact
from tests.clients import stand_in
from tests.clients.lesion_service import LesionStandIn
from tests.models.lesion import bright
from tests.services.tasks.served_task import Json, ServedTask, answered, refused_alike


class Served(ServedTask):
    """A running lesion service."""

    task, stub_type = "lesion", LesionServiceStub
    request, stream_request = lesion_pb2.LesionPredictRequest, lesion_pb2.LesionStreamRequest

    async def form(self, flair: bytes, *, accept: str = "application/json", **fields: Any) -> httpx.Response:
        """A form; fields of bytes are files."""
        return await self.sent_form(accept, fields, flair=("anybody's name.nii.gz", flair))

    async def answer(self, flair: bytes, **fields: Any) -> Json:
        return answered(await self.form(flair, **fields))

    async def refusal(self, flair: bytes, **fields: Any) -> Json:
        """The error, which both protocols must word alike."""
        response = await self.form(flair, **fields)
        files = {name: value for name, value in fields.items() if isinstance(value, bytes)}
        with pytest.raises(grpc.aio.AioRpcError) as other:
            await self.message(flair, **files)
        return refused_alike(response, other.value)

    async def message(self, flair: bytes, **wishes: Any) -> lesion_pb2.LesionPredictResponse:
        return await self.stub.Predict(self.request(flair=flair, **wishes))

    async def streamed(self, *scans: Json, begin: common_pb2.StreamBegin | None = None, piece: int = 1000) -> list[Any]:
        """All frames that answer scans sent in pieces."""
        sent = [frame for number, scan in enumerate(scans) for frame in pieces(number, scan, piece)]
        return await self.frames(*sent, begin=begin)


def pieces(number: int, scan: Json, size: int) -> list[Any]:
    """The frames of a scan; its files take turns."""
    wishes = {name: scan[name] for name in ("name", "maps", "encoding") if name in scan}
    head = lesion_pb2.LesionScan(sequence=number, **wishes)
    requests = [lesion_pb2.LesionStreamRequest(scan=head)]
    inputs = {"flair": 1, "t1": 2, "brain_mask": 3}
    files = {kind: scan[name] for name, kind in inputs.items() if name in scan}
    for start in range(0, max(map(len, files.values()), default=0), size):
        for kind, content in files.items():
            if part := content[start : start + size]:
                piece = lesion_pb2.LesionPiece(input=kind, content=part)
                requests.append(lesion_pb2.LesionStreamRequest(piece=piece))
    return [*requests, lesion_pb2.LesionStreamRequest(end=lesion_pb2.LesionScanEnd())]


serving = Served.serving


@pytest.fixture
def lesion() -> LesionStandIn:
    """Stand-in of the service, with images."""
    return LesionStandIn(images=True)


@pytest.fixture
def target(lesion: LesionStandIn) -> Iterator[str]:
    """Where the stand-in listens."""
    with stand_in.serving(lesion) as where:
        yield where


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
