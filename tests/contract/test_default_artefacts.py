"""The default artefact of each task on the provider that the environment names: answers agree, and so do refusals.

With ``DEMUR_PROVIDER=cuda`` they compute on a GPU, but for tasks whose ``DEMUR_<TASK>_PROVIDER`` is ``cpu``.
"""

import importlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import httpx
import numpy as np
import pytest
from google.protobuf.message import Message

from benchmarks import inputs, wire
from demur.v1 import common_pb2, lesion_pb2, motion_pb2, translation_pb2
from models import artefact
from models.artefact import Artefact
from services.app.assembly import profile
from services.app.reference import folder
from services.contract_tests.served import artefact_served
from services.policy.decision import Decision
from services.runtime.settings import TASKS, Settings
from services.tasks import DEFAULT_MODELS
from tests.contract.serving import detail
from tests.models.executors.device_sessions import install
from tests.models.lesion import heads
from tests.services.tasks.motion import streets

TEXTS = ("I have two dogs.", "He opened the door. She was not there!")
UNITS = {"vessel": 5, "weather": 10, "motion": len(streets.agents()), "lesion": 1, "translation": 3}
"""Decided in the answer to ``body``: of weather rows, two heads."""


@dataclass(frozen=True)
class Served:
    """A default artefact behind both protocols."""

    task: str
    source: Artefact
    settings: Settings
    channel: grpc.aio.Channel
    http: httpx.AsyncClient

    async def over_grpc(self, body: bytes) -> bytes:
        return await self.channel.unary_unary(wire.predict(self.task))(body)

    async def over_http(self, body: bytes) -> httpx.Response:
        return await self.http.post("/v1/predict", content=body, headers={"content-type": "application/x-protobuf"})

    def message(self, content: bytes) -> Any:
        """An answer."""
        module = importlib.import_module(f"demur.v1.{self.task}_pb2")
        return getattr(module, f"{self.task.capitalize()}PredictResponse").FromString(content)


@asynccontextmanager
async def serving(task: str) -> AsyncIterator[Served]:
    settings = Settings.read(task=task)
    source = artefact.read(folder(DEFAULT_MODELS[task]), task)
    async with artefact_served(source, task, provider=settings.provider) as (_, channel, http):
        yield Served(task, source, settings, channel, http)


def body(served: Served) -> bytes:
    """A request that the task answers."""
    if served.task in inputs.SERVED:
        return wire.protobuf_body(served.task, served.source.schema, inputs.rows(served.source, 5))
    message: Message = {
        "motion": motion_pb2.MotionPredictRequest(scene=streets.CONTENT),
        "lesion": lesion_pb2.LesionPredictRequest(flair=heads.packed(heads.head())),
        "translation": translation_pb2.TranslationPredictRequest(texts=TEXTS),
    }[served.task]
    return message.SerializeToString()


def deferrals(message: Message) -> Iterator[common_pb2.Deferral]:
    """All of an answer, wherever in it."""
    for _, value in message.ListFields():
        for part in value if isinstance(value, list) or hasattr(value, "append") else [value]:
            if isinstance(part, common_pb2.Deferral):
                yield part
            elif isinstance(part, Message):
                yield from deferrals(part)


def uncertainties(messages: list[common_pb2.Deferral]) -> np.ndarray:
    return np.concatenate([np.frombuffer(message.uncertainty, "<f4") for message in messages])


@pytest.mark.parametrize("task", TASKS)
async def test_both_protocols_say_the_same_under_the_profile_of_the_device(task: str) -> None:
    async with serving(task) as served:
        request = body(served)
        response = await served.over_http(request)
        assert response.status_code == 200, response.text
        answer, other = served.message(await served.over_grpc(request)), served.message(response.content)
        here, there = list(deferrals(answer)), list(deferrals(other))
        assert answer.model == other.model == served.source.tag
        assert answer.profile == other.profile == profile(served.settings, served.source).name
        assert len(uncertainties(here)) == UNITS[task]
        assert np.isfinite(uncertainties(here)).all()
        np.testing.assert_allclose(uncertainties(here), uncertainties(there), rtol=1e-3)
        assert [deferral.decisions for deferral in here] == [deferral.decisions for deferral in there]
        assert {decision for deferral in here for decision in deferral.decisions} <= {Decision.ANSWER, Decision.DEFER}
        if served.settings.provider == "cpu":  # devices may add in another order from call to call
            for deferral in (*here, *there):
                deferral.ClearField("ids")
            assert answer == other


@pytest.mark.parametrize("task", TASKS)
async def test_what_is_no_request_is_refused_alike(task: str) -> None:
    async with serving(task) as served:
        for broken in (b"", b"\xff" * 9):  # asks nothing; is no message
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await served.over_grpc(broken)
            response = await served.over_http(broken)
            assert (error.value.code(), response.status_code) == (grpc.StatusCode.INVALID_ARGUMENT, 422)
            assert detail(error.value)["code"] == response.json()["error"]["code"]


async def test_the_environment_names_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = install(monkeypatch)
    monkeypatch.setenv("DEMUR_PROVIDER", "cuda")
    async with serving("vessel") as served:
        answer = served.message(await served.over_grpc(body(served)))
    assert answer.profile.startswith("cuda-")
    assert [name for providers, _ in machine.opened for name, _ in providers] == ["CUDAExecutionProvider"]
