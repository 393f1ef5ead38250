"""A client at the address of another service, of HTTP, and in another process, with services as users start them."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import demur
from examples.predict import USUAL
from tests.e2e.conftest import Installation


def test_the_service_of_another_task(served: Installation) -> None:
    weather = f"127.0.0.1:{4001 + served.offset}"
    with demur.connect(weather) as client, pytest.raises(demur.WrongAddress) as raised:
        client.vessel.predict(USUAL, purpose="explore")
    assert str(raised.value) == (
        f"the service at {weather} is weather, not vessel; give the gRPC port of vessel, by default 4005 "
        f"(here {served.grpc})"
    )
    with demur.connect(served.grpc) as client, pytest.raises(demur.WrongAddress, match="is vessel, not weather"):
        client.weather.describe()


async def test_the_port_of_http(served: Installation) -> None:
    target = served.http.removeprefix("http://")
    words = rf"{target} is an HTTP port; .* \(here {served.grpc}\)"
    with demur.connect(target) as client:
        with pytest.raises(demur.WrongAddress, match=words):
            client.vessel.predict(USUAL, purpose="explore")
        with pytest.raises(demur.WrongAddress, match=words):
            client.ready(30)
    async with demur.aconnect(target) as client:
        with pytest.raises(demur.WrongAddress, match=words):
            await client.vessel.predict(USUAL, purpose="explore")
    with pytest.raises(demur.WrongAddress, match=f"such as '{served.grpc}'"):
        demur.connect(f"{served.http}/v1/predict")


def test_a_client_in_another_process(served: Installation) -> None:
    rows = [USUAL | {"stw": stw} for stw in (14.0, 16.0)]
    with demur.connect(served.grpc) as client:
        expected = [client.vessel.cost(row) for row in rows]
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            costs = list(pool.map(client.vessel.cost, rows))
        with pickle.loads(pickle.dumps(client)) as again:
            np.testing.assert_array_equal(again.vessel.cost(rows[0]), expected[0])
    np.testing.assert_array_equal(costs, expected)
