"""Replay sets are scored by what serves: a service that is asked the same inputs answers with the same scores."""

from pathlib import Path

import numpy as np
import pytest

from demur.v1 import common_pb2, vessel_pb2
from demur.v1.vessel_pb2_grpc import VesselServiceStub
from models import artefact, npz, replay
from models.artefact import Artefact
from models.tasks.translation.artefact import replay_set as sentences
from models.tasks.weather.artefact import replay_set as forecasts
from tests.services import weather
from tests.services.served import artefact_served
from tests.services.tasks.translation import conftest as translation

ARTEFACTS = Path(__file__).resolve().parents[3] / "artefacts"
ROWS = 5


def inputs(found: Artefact) -> dict[str, np.ndarray]:
    assert found.manifest.replay is not None
    return npz.decode(found.path(found.manifest.replay.inputs).read_bytes(), replay.MOST_INPUT_BYTES)


def same(served: bytes | np.ndarray, replayed: np.ndarray) -> None:
    values = np.frombuffer(served, "<f4") if isinstance(served, bytes) else served
    np.testing.assert_allclose(values, replayed, rtol=1e-5)


@pytest.mark.parametrize("name", ["dnn-10", "symbolic-1"])
async def test_rows_of_vessel(name: str) -> None:
    found = artefact.read(ARTEFACTS / "vessel" / name)
    rows = inputs(found)["rows"][:ROWS]
    scores = replay.replayer(found)(0, ROWS, ROWS)["power"]
    async with artefact_served(found, "vessel") as (_, channel, _http):
        packed = common_pb2.PackedRows(row_count=ROWS, values=rows.tobytes())
        request = vessel_pb2.VesselPredictRequest(rows=common_pb2.Rows(packed=packed))
        answer = await VesselServiceStub(channel).Predict(request)
    same(answer.power.deferral.uncertainty, scores[answer.power.deferral.measure])
    same(answer.power.mean, scores["mean"])


@pytest.mark.parametrize("name", ["catboost-1", "ft_transformer-1"])
async def test_rows_of_weather(name: str) -> None:
    found = artefact.read(ARTEFACTS / "weather" / name)
    rows = forecasts.decoded(inputs(found))[:ROWS]
    scores = replay.replayer(found)(0, ROWS, ROWS)
    async with weather.serving(found) as served:
        answer = await served.message(rows)
    same(answer.temperature.mean, scores["temperature"]["mean"])
    for head, said in (("temperature", answer.temperature), ("precipitation", answer.precipitation)):
        same(said.deferral.uncertainty, scores[head][said.deferral.measure])


async def test_a_sentence_of_translation() -> None:
    found = artefact.read(ARTEFACTS / "translation" / "transformer-3")
    text = sentences.decoded(inputs(found))[0]
    scores = replay.replayer(found)(0, 1, 1)["hypotheses"]
    async with translation.serving(found) as served:
        (answer,) = (await served.answer(text))["sentences"]
    same(np.array([answer["uncertainty"]], np.float32), scores[answer["measure"]])
