"""The client's labels, requests, resolutions and commits against a real service with a real ledger, over gRPC."""

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import demur
from demur._labels.values import decode_value, encode_value
from demur.v1 import labels_pb2
from demur.v1.labels_pb2_grpc import LabelServiceStub
from services.labels.webhooks import sign
from tests.contract.serving import serving
from tests.services.background import background
from tests.services.tabular import TABULAR

COLUMNS = {"speed": [2.0, 3.0, 4.0], "wave": [0.5, 9.0, 8.0]}
"""The first row is answered, the others are deferred."""


@asynccontextmanager
async def tabular(**settings: Any) -> AsyncIterator[str]:
    """Where the toy service listens."""
    async with serving(TABULAR, **settings) as served:
        yield f"127.0.0.1:{served.server.port}"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[demur.Client]:
    settings: dict[str, Any] = {"home": tmp_path, "census": "power", "max_rows": 100_000}
    with background(tabular(recorded=True, **settings)) as target, demur.connect(target, actor="anna") as client:
        yield client


def test_from_a_deferred_row_to_its_resolution(client: demur.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = client.vessel.predict(COLUMNS)
    assert answer.recorded
    assert answer.deferred.tolist() == [False, True, True]
    _, first, second = answer.prediction_ids
    assert client.resolutions.get(first).status == "pending"
    requests = client.requests.claim(5)
    assert len(requests) == 2
    by_speed = {request.columns[0].value: request for request in requests}
    request = by_speed[3.0]
    assert [(c.name, c.value, c.unit) for c in request.columns] == [("speed", 3.0, "m/s"), ("wave", 9.0, "m")]
    assert (request.label, request.head, request.must_complete) == ("power, kW", "power", False)
    assert request.due is not None
    assert request.due > time.time() + 29 * 86_400
    assert client.requests.extend(request, seconds=5000) > request.lease_until
    threading.Timer(0.2, lambda: client.requests.submit(request, 27.5, observed=1_700_000_000)).start()
    # Whoever is told when the time is over, and not when the label came, waits longer than the test may take.
    monkeypatch.setattr("services.labels.service.MOST_WAIT_SECONDS", 600.0)
    monkeypatch.setattr("demur._labels.resolutions.POLL_SECONDS", 600.0)
    resolution = client.resolutions.wait(first, 600)
    assert resolution.resolved
    assert (resolution.value, resolution.source, resolution.state) == (27.5, "requested", "labelled")
    assert resolution.observed == 1_700_000_000
    client.requests.skip(by_speed[4.0], "no log", unlabelable=True)
    assert client.resolutions.get([second, first]) == [
        demur.Resolution(second, "unresolved", "unlabelable", "power"),
        resolution,
    ]
    counts = client.requests.counts()["power"]
    assert {state: count for state, count in counts.items() if count} == {"labelled": 1, "unlabelable": 1}


def test_units_are_watched_until_all_are_final(client: demur.Client) -> None:
    answer = client.vessel.predict(COLUMNS)
    ids = answer.prediction_ids[1:]
    watched = client.resolutions.watch(ids, timeout=60)
    threading.Timer(0.2, lambda: client.labels.submit([demur.Label(unit, 5.0) for unit in ids])).start()
    assert sorted(resolution.unit for resolution in watched) == sorted(ids)
    again = client.vessel.predict(COLUMNS)
    with pytest.raises(demur.DeadlineExceeded):
        next(client.resolutions.watch(again.prediction_ids[1], timeout=0.2))
    abandoned = client.resolutions.watch(again.prediction_ids[1])
    abandoned.close()
    assert client.resolutions.wait(again.prediction_ids[1], 0.05).status == "pending"


def test_what_is_erased_is_forgotten_and_takes_no_more_labels(client: demur.Client) -> None:
    answer = client.vessel.predict(COLUMNS)
    unit = answer.prediction_ids[1]
    client.labels.submit(demur.Label(unit, 3.0))
    with pytest.raises(demur.InvalidInput, match="reason"):
        client.labels.erase([unit], " ")
    assert client.labels.erase([unit], "asked to") == 1
    assert client.labels.erase([unit], "asked to") == 0
    assert client.resolutions.get(unit).status == "erased"
    (rejected,) = client.labels.submit(demur.Label(unit, 4.0, version=2)).rejected
    assert rejected.error.code == "unit_erased"


def test_submitting_tells_what_became_of_each(client: demur.Client) -> None:
    answer = client.vessel.predict(COLUMNS)
    unit = answer.prediction_ids[1]
    taken = client.labels.submit(
        [
            demur.Label(unit, 1.0, key="a"),
            demur.Label(unit, 1.0, key="a"),
            demur.Label(unit, np.float32(2), key="a", version=2),
            demur.Label("nonsense", 1.0),
            demur.Label(unit, "many"),
            demur.Label(unit, b"file"),
            demur.Label(unit, np.zeros((25, 2))),
        ]
    )
    assert taken.outcomes == ("accepted", "duplicate", "corrected", *["rejected"] * 4)
    assert repr(taken) == "<LabelsTaken: 1 accepted, 1 duplicate, 1 corrected, 4 rejected>"
    assert [(rejection.index, rejection.error.code) for rejection in taken.rejected][:2] == [
        (3, "bad_unit"),
        (4, "bad_label"),
    ]
    with pytest.raises(demur.InvalidInput, match="must be an id") as caught:
        taken.check()
    assert caught.value.index == 3
    assert client.labels.submit(demur.Label(unit, 1.0, key="a")).check().outcomes == ("duplicate",)
    assert len(client.labels.submit([])) == 0


@pytest.mark.parametrize("value", [None, [1.0, 2.0], object(), [[[1.0]]]])
def test_what_is_no_value_is_refused_before_anything_is_sent(value: Any) -> None:
    with pytest.raises(demur.InvalidInput, match="allowed: a number, a text"):
        encode_value(value)


def test_values_travel_as_they_are() -> None:
    for value in (1.5, "текст", b"\x00\xff"):
        assert decode_value(encode_value(value)) == value
    steps = np.array([[1.0, 2.0], [np.nan, np.nan]])
    assert np.array_equal(decode_value(encode_value(steps)), steps, equal_nan=True)


def test_a_census_goes_packed(client: demur.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demur._labels.labels, "BATCH", 2)
    answer = client.vessel.predict(COLUMNS)
    values = answer.mean + 1
    taken = client.labels.census(answer.prediction_ids, values, observed=1_700_000_000.0)
    assert taken.outcomes == ("accepted",) * 3
    assert (
        client.labels.census(list(answer.prediction_ids), values, observed=1_700_000_000.0).outcomes
        == ("duplicate",) * 3
    )
    resolutions = client.resolutions.get(answer.prediction_ids)
    assert [resolution.value for resolution in resolutions] == values.astype(float).tolist()
    assert {resolution.source for resolution in resolutions} == {"census"}
    backwards = client.labels.census(answer.prediction_ids[::-1], values[::-1], observed=1_700_000_000.0)
    assert set(backwards.outcomes) == {"duplicate"}
    with pytest.raises(demur.InvalidInput, match="2 numbers"):
        client.labels.census(answer.prediction_ids, [1.0, 2.0])
    with pytest.raises(demur.InvalidInput, match="prediction_ids"):
        client.labels.census(["x"], [1.0])
    bad = client.labels.census(answer.prediction_ids, [1.0, 2.0, np.nan])
    assert [(rejection.index, rejection.error.code) for rejection in bad.rejected] == [(2, "bad_label")]


def test_leases_are_lost_in_words(client: demur.Client) -> None:
    client.vessel.predict(COLUMNS)
    (request,) = client.requests.claim()
    client.requests.release(request)
    for call in (
        lambda: client.requests.release(request),
        lambda: client.requests.extend(request),
        lambda: client.requests.submit(request, 1.0),
    ):
        with pytest.raises(demur.Conflict) as caught:
            call()
        assert caught.value.code == "lease_lost"
    with pytest.raises(demur.InvalidInput, match="reason"):
        client.requests.skip(client.requests.claim()[0], "")


def test_explored_rows_are_committed(client: demur.Client) -> None:
    (answer,) = client.vessel.stream([COLUMNS])
    assert client.requests.claim(10) == []
    assert client.vessel.commit(answer) == demur.Committed(3, ())
    assert client.vessel.commit(answer.prediction_ids[::-1]) == demur.Committed(3, ())
    strange = "00000000000000aa-7"
    assert client.vessel.commit([strange, answer.prediction_ids[0]]) == demur.Committed(1, (strange,))
    assert len(client.requests.claim(10)) == 2
    with pytest.raises(demur.InvalidInput):
        client.vessel.commit("x")


async def test_the_asynchronous_client_commits_too(tmp_path: Path) -> None:
    async with (
        serving(TABULAR, recorded=True, home=tmp_path) as served,
        demur.aconnect(f"127.0.0.1:{served.server.port}") as client,
    ):
        async for answer in client.vessel.stream([COLUMNS]):
            assert (await client.vessel.commit(answer)).units == 3


def test_a_service_without_a_ledger_says_so() -> None:
    with background(tabular()) as target, demur.connect(target, retry=demur.Retry(attempts=1)) as client:
        for call in (
            lambda: client.labels.submit(demur.Label("0" * 16 + "-1", 1.0)),
            lambda: client.requests.claim(),
            lambda: list(client.resolutions.watch("0" * 16 + "-1")),
            lambda: client.vessel.commit("0" * 16 + "-1"),
        ):
            with pytest.raises(demur.ServiceFailure) as caught:
                call()
            assert caught.value.code == "no_ledger"


async def test_batches_of_a_stream_are_acknowledged_one_by_one(tmp_path: Path) -> None:
    async with (
        serving(TABULAR, recorded=True, home=tmp_path, census="power") as served,
        grpc.aio.insecure_channel(f"127.0.0.1:{served.server.port}") as channel,
    ):
        stub: Any = LabelServiceStub(channel)  # type: ignore[no-untyped-call]
        call = stub.SubmitStream()
        for number in range(3):
            packed = labels_pb2.PackedLabels(
                epoch=0xABC,
                sequences=np.arange(number, number + 2, dtype="<u8").tobytes(),
                values=np.ones(2).tobytes(),
            )
            await call.write(labels_pb2.SubmitLabelsRequest(packed=packed))
            assert list((await call.read()).outcomes) == ([1, 1] if number == 0 else [2, 1])
        plain = await stub.Submit(labels_pb2.SubmitLabelsRequest(packed=packed, plain=True))
        assert (plain.outcomes, list(plain.plain_outcomes)) == (b"", [labels_pb2.LABEL_OUTCOME_DUPLICATE] * 2)
        await call.write(labels_pb2.SubmitLabelsRequest(packed=labels_pb2.PackedLabels(values=b"x")))
        with pytest.raises(grpc.aio.AioRpcError, match="packed.values = 1 bytes"):
            await call.read()


def test_deliveries_are_verified() -> None:
    body = b'{"id": "1"}'
    now = time.time()
    demur.verify_webhook(body, sign(b"secret", body, now), "secret")
    for wrong in (
        sign(b"other", body, now),
        sign(b"secret", body + b" ", now),
        sign(b"secret", body, now - 1000),
        sign(b"secret", body, now).replace("t=", "t=1"),
        "",
        "t=,v1=",
        "v1=é",
    ):
        with pytest.raises(demur.InvalidInput) as caught:
            demur.verify_webhook(body, wrong, b"secret")
        assert caught.value.code == "bad_signature"


async def test_a_draining_service_refuses_each_kind_of_call_in_words(tmp_path: Path) -> None:
    async with (
        serving(TABULAR, recorded=True, home=tmp_path) as served,
        grpc.aio.insecure_channel(f"127.0.0.1:{served.server.port}") as channel,
    ):
        served.server.calls.shut()
        stub: Any = LabelServiceStub(channel)  # type: ignore[no-untyped-call]
        calls = (
            stub.Submit(labels_pb2.SubmitLabelsRequest()),
            stub.WatchResolutions(labels_pb2.WatchRequest()).read(),
            stub.SubmitStream().read(),  # grpc.aio reports INTERNAL if a refusal meets a message
        )
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError, match="another one answers") as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
