"""Service of a task behind both protocols, and the calls that tests of every task make."""

import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import grpc
import httpx
import numpy as np
import pytest

from demur.v1 import common_pb2
from models.artefact import Artefact
from services.app.assembly import Assembled
from services.contract_tests.served import artefact_served
from services.policy.decision import Decision
from tests.contract.serving import detail

Json = dict[str, Any]


@dataclass(frozen=True)
class ServedTask:
    """A running service."""

    task: ClassVar[str]
    stub_type: ClassVar[Any]
    request: ClassVar[Any]
    """Message of a question."""
    stream_request: ClassVar[Any]
    """Message of a frame that is sent."""
    lanes: ClassVar[int] = 2
    assembled: Assembled
    channel: grpc.aio.Channel
    stub: Any
    http: httpx.AsyncClient

    @classmethod
    @asynccontextmanager
    async def serving(cls, artefact: Artefact, home: Path | None = None, **settings: Any) -> AsyncIterator[Self]:
        """Serve an artefact; decisions are recorded where a home is given."""
        chosen = {"lanes": cls.lanes} | settings
        async with artefact_served(artefact, cls.task, home, **chosen) as (assembled, channel, http):
            yield cls(assembled, channel, cls.stub_type(channel), http)

    async def sent_form(self, accept: str, fields: Json, **files: Any) -> httpx.Response:
        """A form; fields of bytes are files."""
        files |= {name: (name, value) for name, value in fields.items() if isinstance(value, bytes)}
        texts = {name: value for name, value in fields.items() if not isinstance(value, bytes)}
        return await self.http.post("/v1/predict", files=files, data=texts, headers={"accept": accept})

    async def frames(self, *sent: Any, begin: common_pb2.StreamBegin | None = None) -> list[Any]:
        """All frames that answer those of a stream."""

        async def frames() -> AsyncIterator[Any]:
            if begin is not None:
                yield self.stream_request(begin=begin)
            for frame in sent:
                yield frame

        return [frame async for frame in self.stub.PredictStream(frames())]

    async def stream_refusal(self, frames: Iterable[Json]) -> Json:
        """The error that ends a stream of frames with these fields."""
        try:
            await self.frames(*(self.stream_request(**fields) for fields in frames))
        except grpc.aio.AioRpcError as error:
            return detail(error)
        raise AssertionError("the stream was answered")

    async def job(self, files: Json, data: Json | None = None) -> tuple[Json, str]:
        """View of a job when it is over, and its events."""
        created = await self.http.post("/v1/jobs", files=files, data=data)
        assert created.status_code == 202, created.text
        location = created.headers["location"]
        events = (await self.http.get(f"{location}/events")).text
        return answered(await self.http.get(location)), events

    async def labels(self, labels: list[Json], **more: Any) -> Json:
        """Labels over HTTP, each taken or rejected."""
        return answered(await self.http.post("/v1/labels", json={"labels": labels} | more))

    async def labelled(self, unit: str, value: Any, source: str = "census") -> Json:
        return await self.labels([{"unit": unit, "value": value, "source": source}])

    async def claimed(self, **wishes: Any) -> list[Json]:
        return answered(await self.http.post("/v1/requests/claim", json=wishes))["requests"]

    async def submitted(self, request: Json, value: Any) -> httpx.Response:
        """A label of a claimed request."""
        body = {"value": value, "lease": request["lease"]}
        return await self.http.post(f"/v1/requests/{request['request']}/submit", json=body)

    async def resolution(self, unit: str) -> Json:
        return answered(await self.http.get(f"/v1/units/{unit}/resolution"))


def answered(response: httpx.Response) -> Json:
    """JSON of an answer; any other response fails the test."""
    assert response.status_code == 200, response.text
    return response.json()


def same_deferral(answer: Json, deferral: common_pb2.Deferral) -> None:
    """Hold the decision on a unit in JSON against that in a message."""
    assert len(deferral.decisions) == deferral.ids.count == 1
    assert answer["decision"] == Decision(deferral.decisions[0]).name
    assert np.float32(answer["uncertainty"]) == np.frombuffer(deferral.uncertainty, "<f4")[0]
    assert (answer["measure"], answer["policy"]) == (deferral.measure, deferral.policy)
    assert answer["threshold"] == (deferral.threshold if np.isfinite(deferral.threshold) else None)
    assert len(answer["shifted"]) == bin(deferral.shifts[0]).count("1")


def threads_of(monkeypatch: pytest.MonkeyPatch, *calls: tuple[Any, str]) -> dict[str, set[threading.Thread]]:
    """Threads in which functions of modules and classes run from now on, by name."""
    threads: dict[str, set[threading.Thread]] = {name: set() for _, name in calls}

    def noting(owner: Any, name: str) -> None:
        call: Callable[..., Any] = getattr(owner, name)

        def noted(*args: Any, **more: Any) -> Any:
            threads[name].add(threading.current_thread())
            return call(*args, **more)

        monkeypatch.setattr(owner, name, noted)

    for owner, name in calls:
        noting(owner, name)
    return threads


def refused_alike(response: httpx.Response, refused: grpc.aio.AioRpcError) -> Json:
    """The error, which both protocols must word alike."""
    assert response.status_code in (413, 422), response.text
    error: Json = response.json()["error"]
    details = detail(refused)
    assert {name: details[name] for name in error} == error
    return error
