"""The client of the review queue against a real service with a real ledger; predictions of every kind of head."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demur
from demur._labels.requests import revealed_prediction
from demur.v1 import labels_pb2
from models.head import Head
from models.label_errors import label_rule
from models.predictive import Categorical, Gaussian, Sequences, Trajectories, Volumes
from models.tasks.lesion.spec import LESIONS
from models.tasks.motion.spec import TRAJECTORIES
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.vessel.spec import POWER
from models.tasks.weather.spec import PRECIPITATION
from services.labels.label_types import RevealedPrediction
from services.transport.grpc.review_messages import revealed_message
from tests.clients import readme
from tests.contract.serving import serving
from tests.services.background import background
from tests.services.labels.test_client import COLUMNS, tabular
from tests.services.tabular import TABULAR

UNITS = np.arange(1)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[demur.Client]:
    settings: dict[str, Any] = {"home": tmp_path, "drafts": True, "max_rows": 100_000}
    with background(tabular(recorded=True, **settings)) as target, demur.connect(target, actor="anna") as client:
        yield client


def test_a_request_is_chosen_labelled_compared_and_corrected(client: demur.Client) -> None:
    answer = client.vessel.predict(COLUMNS)
    waiting = list(client.requests.waiting())
    assert len(waiting) == 2
    assert {(one.head, one.state, one.mine) for one in waiting} == {("power", "requested", False)}
    (request,) = client.requests.claim(5, requests=waiting[:1], inputs=False)
    assert (request.queue, request.draft, request.answers) == ("blind", None, ())
    assert request.id not in {one.id for one in waiting}, "nobody can tell by ids what was in the list"
    assert client.requests.claim(requests=[]) == client.requests.claim(requests=waiting[:1]) == []
    assert {one.id: (one.state, one.mine) for one in client.requests.waiting()}[waiting[0].id] == ("claimed", True)
    shown = client.requests.input(request)
    assert np.frombuffer(shown.content, "<f4").tolist() == [column.value for column in request.columns]
    around = client.requests.neighbours(request)
    (neighbour,) = (*around.before, *around.after)
    assert around.names == tuple(column.name for column in request.columns)
    assert set(neighbour.values) <= {float(value) for values in COLUMNS.values() for value in values}
    client.requests.flag(request, "odd")
    with pytest.raises(demur.Conflict, match="submit a label first"):
        client.requests.reveal(request)
    assert client.requests.submit(request, 20.0, seconds=4.5) == "accepted"
    revealed = client.requests.reveal(request)
    row = COLUMNS["speed"].index(request.columns[0].value or 0.0)
    assert revealed.prediction == answer.mean[row]
    assert revealed.uncertainty == answer.uncertainty[row]
    assert revealed.error == pytest.approx((revealed.prediction - 20.0) ** 2)
    assert (revealed.deferred, revealed.error_unit) == (True, "kW²")
    assert client.requests.correct(request, 21.0) == "corrected"
    assert client.resolutions.get(answer.prediction_ids[row]).value == 21.0
    state = client.requests.state()
    assert (state.keeps_inputs, state.drafts, state.adjudications) == (True, True, 0)
    assert state.counts == client.requests.counts()


def test_drafts_come_with_their_prediction(client: demur.Client) -> None:
    answer = client.vessel.predict(COLUMNS)
    drafts = client.requests.claim(5, queue="drafts")
    assert sorted(draft.draft for draft in drafts) == sorted(answer.mean[1:].tolist())
    assert {draft.queue for draft in drafts} == {"drafts"}
    client.requests.release(drafts[0], "lunch")
    with pytest.raises(demur.InvalidInput, match="queue is 'all'"):
        client.requests.claim(queue="all")  # type: ignore[arg-type]


def test_a_long_list_is_read_in_parts(client: demur.Client) -> None:
    for _ in range(2):
        client.vessel.predict({"speed": np.full(550, 3.0), "wave": np.full(550, 9.0)})
    assert len({request.id for request in client.requests.waiting(head="power")}) == 1100
    assert len(list(islice(client.requests.waiting(), 5))) == 5


def test_the_code_of_the_readme_reviews(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings: dict[str, Any] = {"home": tmp_path, "drafts": True}
    with background(tabular(recorded=True, **settings)) as target, demur.connect(target) as client:
        client.vessel.predict({"speed": np.full(7, 3.0), "wave": np.full(7, 9.0)})
        readme.run("requests", "127.0.0.1:4005", target)
        counts = client.requests.counts()["power"]
    assert {state: count for state, count in counts.items() if count} == {"labelled": 7}
    assert capsys.readouterr().out.count("power, kW [('speed', 3.0, 'm/s'), ('wave', 9.0, 'm')]") == 5


async def test_the_asynchronous_client_reviews_too(tmp_path: Path) -> None:
    async with (
        serving(TABULAR, recorded=True, home=tmp_path) as served,
        demur.aconnect(f"127.0.0.1:{served.server.port}", actor="anna") as client,
    ):
        await client.vessel.predict(COLUMNS)
        waiting = [request async for request in client.requests.waiting()]
        requests = await client.requests.claim(2, requests=[request.id for request in waiting])
        assert [request.due for request in requests] == [request.due for request in waiting]
        one, other = requests
        assert await client.requests.extend(one, seconds=5000) > one.lease_until
        assert await client.requests.submit(one, 20.0, seconds=2.0) == "accepted"
        assert (await client.requests.reveal(one)).deferred
        assert len((await client.requests.neighbours(other)).names) == 2
        assert await client.requests.correct(one, 21.0) == "corrected"
        await client.requests.skip(other, "no log", unlabelable=True)
        counts = (await client.requests.counts())["power"]
        assert {state: count for state, count in counts.items() if count} == {"labelled": 1, "unlabelable": 1}


def shown(head: Head, predictive: Any) -> tuple[Any, Any]:
    """Return the prediction of the first unit as its rule has it, and as a client receives it."""
    rule: Any = label_rule(head)
    prediction = rule.prediction(rule.evidence(predictive, UNITS)[0])
    revealed = RevealedPrediction(head, prediction, None, 0.5, False, "m", 0.25)
    content = revealed_message(revealed).SerializeToString()
    received = revealed_prediction(labels_pb2.RevealedPrediction.FromString(content))
    assert (received.error, received.uncertainty, received.deferred) == (None, 0.5, False)
    return prediction, received.prediction


def test_numbers_classes_and_masks_are_shown_as_labels_are() -> None:
    assert shown(POWER, Gaussian(np.array([7.5], "f4"), np.ones(1, "f4"))) == (7.5, 7.5)
    nothing = Gaussian(np.array([np.nan], "f4"), np.ones(1, "f4"))
    assert shown(POWER, nothing) == (None, None), "a prediction that is not finite is none"
    probabilities = np.eye(9, dtype="f4")[[3]]
    assert shown(PRECIPITATION, Categorical(probabilities)) == (3, 3)
    mask = np.zeros((4, 4, 4), bool)
    mask[1, 2, 3] = True
    prediction, received = shown(LESIONS, Volumes([], [mask], np.zeros(1)))
    assert isinstance(prediction, bytes)
    assert received == prediction


def test_texts_are_shown_with_their_confidences() -> None:
    prediction, received = shown(HYPOTHESES, Sequences(np.array([[-1.0, -0.5]]), texts=[["дом", "здание"]]))
    assert received.texts == tuple(prediction["texts"]) == ("здание", "дом")
    assert received.confidences == tuple(prediction["confidences"])
    _, received = shown(HYPOTHESES, Sequences(np.array([[np.nan, np.nan]]), texts=[["a", "b"]]))
    assert np.isnan(received.confidences).tolist() == [True, True]


def test_plans_are_shown_with_their_weights() -> None:
    plans = np.random.default_rng(7).normal(size=(1, 2, 25, 2)).astype("f4")
    plans[0, 0, 24] = np.nan
    _, received = shown(TRAJECTORIES, Trajectories(plans, np.array([[0.25, 0.75]], "f4"), np.zeros(1)))
    assert received.weights == (0.75, 0.25)
    assert [plan.shape for plan in received.plans] == [(25, 2)] * 2
    assert np.array_equal(received.plans, plans[0, ::-1], equal_nan=True)
