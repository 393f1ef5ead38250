"""The client against the vessel service itself: its pipeline, its model, its gRPC server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

import demur
from demur.v1 import common_pb2, vessel_pb2
from models import artefact
from services.assembly import assemble
from services.metrics import Metrics
from services.settings import Settings
from services.transport.grpc.server import GrpcServer
from services.transport.serving import Serving

ARTEFACT = Path(__file__).parents[2] / "artefacts" / "vessel" / "dnn-10"


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    settings, metrics = Settings(), Metrics("vessel", CollectorRegistry())
    assembled = assemble(artefact.read(ARTEFACT), settings, metrics)
    started: list[str] = []
    up, over = threading.Event(), threading.Event()

    async def serve() -> None:
        server = GrpcServer(Serving(assembled.tenant, settings, metrics))
        await server.start("127.0.0.1:0")
        await server.ready()
        started.append(f"127.0.0.1:{server.port}")
        up.set()
        await asyncio.to_thread(over.wait)
        await server.drain(1)
        assembled.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert up.wait(30)
    yield started[0]
    over.set()
    thread.join()


@pytest.fixture
def asked(target: str) -> np.ndarray:
    """Rows within the trained range, float32 [64, 10]."""
    with demur.connect(target) as client:
        features = client.vessel.describe().features
    random = np.random.default_rng(7)
    low, high = (
        np.array([getattr(feature, end) for feature in features]) for end in ("trained_lower", "trained_upper")
    )
    return random.uniform(low, high, (64, len(features))).astype(np.float32)


def test_every_way_of_asking_says_the_same(target: str, asked: np.ndarray) -> None:
    with demur.connect(target) as client:
        assert client.ready(5)
        names = client.vessel.describe().names
        whole = client.vessel.predict(asked, members=True)
        named = client.vessel.predict({name: asked[:, i] for i, name in enumerate(names)})
        (split,) = client.vessel.stream([asked], chunk_rows=10, members=True)
        parts = list(client.vessel.stream(asked[i : i + 4] for i in range(0, 64, 4)))
    np.testing.assert_array_equal(named.mean, whole.mean)
    np.testing.assert_allclose(split.mean, whole.mean, rtol=1e-5)
    np.testing.assert_allclose(np.concatenate([part.mean for part in parts]), whole.mean, rtol=1e-5)
    np.testing.assert_allclose(whole.member_means.mean(axis=0), whole.mean, rtol=1e-4)
    np.testing.assert_allclose(whole.data + whole.knowledge, whole.total, rtol=1e-3)
    np.testing.assert_array_equal(whole.deferred, ~(whole.uncertainty <= np.float32(whole.threshold)))
    assert len(set(whole.prediction_ids) | set(named.prediction_ids) | set(split.prediction_ids)) == 3 * 64
    low, high = whole.interval(0.9)
    assert (low < whole.mean).all()
    assert (whole.mean < high).all()


def test_wrong_names_read_the_same_here_and_there(target: str, asked: np.ndarray) -> None:
    with demur.connect(target) as client:
        names = client.vessel.describe().names
        full = {name: asked[:2, i] for i, name in enumerate(names)}
        for broken in (
            {name: full[name] for name in names[1:]},
            {name: full[name] for name in names[3:]},
            {**full, "speed": [1.0, 2.0]},
            {**full, "stw": [1.0, 2.0, 3.0]},
        ):
            with pytest.raises(demur.InvalidInput) as here:
                client.vessel.predict(broken)
            columns = [common_pb2.NamedColumn(name=name, values=values) for name, values in broken.items()]
            rows = common_pb2.Rows(named=common_pb2.NamedColumns(columns=columns))
            request, calls = vessel_pb2.VesselPredictRequest(rows=rows), client.vessel._calls
            with pytest.raises(demur.InvalidInput) as there:
                calls.unary(client.vessel._stub.Predict, request, calls.deadline(5))
            assert str(here.value) == str(there.value)
            assert vars(here.value) == vars(there.value)


def test_refusals_are_typed(target: str, asked: np.ndarray) -> None:
    bad = asked.copy()
    bad[5, 2] = 4000
    with demur.connect(target) as client:
        with pytest.raises(demur.InvalidInput) as unary:
            client.vessel.predict(bad)
        with pytest.raises(demur.InvalidInput) as streamed:
            list(client.vessel.stream([asked, bad], chunk_rows=4))
        for error in (unary.value, streamed.value):
            assert (error.code, error.field, error.index, error.unit) == ("out_of_range", "stw", 5, "kn")
        with pytest.raises(demur.InvalidInput, match="no rows"):
            client.vessel.predict(asked[:0])
        with pytest.raises(demur.TooLarge, match="stream"):
            client.vessel.predict(np.zeros((300_000, 10), np.float32))
        stricter = client.vessel.predict(asked, defer_above=-1.0)
        assert stricter.deferred.all()


async def test_asynchronously_too(target: str, asked: np.ndarray) -> None:
    async with demur.aconnect(target) as client:
        whole = await client.vessel.predict(asked)
        sizes = [len(answer) async for answer in client.vessel.stream([asked] * 50)]
    assert len(whole) == 64
    assert sizes == [64] * 50
