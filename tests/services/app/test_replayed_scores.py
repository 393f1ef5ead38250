"""Replay sets are scored by what serves: a service that is asked the same inputs answers with the same scores."""

from pathlib import Path

import numpy as np
import pytest

from demur.v1 import common_pb2, vessel_pb2
from demur.v1.vessel_pb2_grpc import VesselServiceStub
from models import artefact, npz, replay
from models.artefact import Artefact
from models.rows import replay_set as forecasts
from models.tasks.translation.artefact import replay_set as sentences
from services.contract_tests.served import artefact_served
from tests.services import weather
from tests.services.tasks.translation import conftest as translation

ARTEFACTS = Path(__file__).resolve().parents[3] / "artefacts"
ROWS = 5


def inputs(model: Artefact) -> dict[str, np.ndarray]:
    assert model.manifest.replay is not None
    return npz.decode(model.path(model.manifest.replay.inputs).read_bytes(), replay.MOST_INPUT_BYTES)


def same(served: bytes | np.ndarray, replayed: np.ndarray) -> None:
    values = np.frombuffer(served, "<f4") if isinstance(served, bytes) else served
    np.testing.assert_allclose(values, replayed, rtol=1e-5)


@pytest.mark.parametrize("name", ["dnn-10", "symbolic-1"])
async def test_rows_of_vessel(name: str) -> None:
    model = artefact.read(ARTEFACTS / "vessel" / name)
    rows = inputs(model)["rows"][:ROWS]
    scores = replay.replayer(model)(0, ROWS, ROWS)["power"]
    async with artefact_served(model, "vessel") as (_, channel, _http):
        packed = common_pb2.PackedRows(row_count=ROWS, values=rows.tobytes())
        request = vessel_pb2.VesselPredictRequest(rows=common_pb2.Rows(packed=packed))
        answer = await VesselServiceStub(channel).Predict(request)
    same(answer.power.deferral.uncertainty, scores[answer.power.deferral.measure])
    same(answer.power.mean, scores["mean"])


@pytest.mark.parametrize("name", ["catboost-1", "ft_transformer-1"])
async def test_rows_of_weather(name: str) -> None:
    model = artefact.read(ARTEFACTS / "weather" / name)
    rows = forecasts.decoded(inputs(model))[:ROWS]
    scores = replay.replayer(model)(0, ROWS, ROWS)
    async with weather.serving(model) as served:
        answer = await served.message(rows)
    same(answer.temperature.mean, scores["temperature"]["mean"])
    for head, prediction in (("temperature", answer.temperature), ("precipitation", answer.precipitation)):
        same(prediction.deferral.uncertainty, scores[head][prediction.deferral.measure])


async def test_a_sentence_of_translation() -> None:
    model = artefact.read(ARTEFACTS / "translation" / "transformer-3")
    text = sentences.decoded(inputs(model))[0]
    scores = replay.replayer(model)(0, 1, 1)["hypotheses"]
    async with translation.serving(model) as served:
        (answer,) = (await served.answer(text))["sentences"]
    same(np.array([answer["uncertainty"]], np.float32), scores[answer["measure"]])
