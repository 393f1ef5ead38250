"""Clients that are copied and pickled, and what of them does not travel."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import demur

Maker = Callable[[int], np.ndarray]


def test_a_copy_has_a_connection_of_its_own(client: demur.Client, rows: Maker) -> None:
    expected = client.vessel.predict(rows(3)).mean
    for again in (copy.deepcopy(client), pickle.loads(pickle.dumps(client))):
        assert type(again) is demur.Client
        assert again._calls.connection == client._calls.connection
        assert again._calls.channel is not client._calls.channel
        np.testing.assert_array_equal(again.vessel.predict(rows(3)).mean, expected)
        again.close()
    np.testing.assert_array_equal(client.vessel.predict(rows(3)).mean, expected)


@pytest.mark.parametrize(
    "name",
    ["vessel", "weather", "lesion", "motion", "translation", "labels", "requests", "resolutions", "policies"],
)
def test_services_travel_alone(client: demur.Client, name: str) -> None:
    service = getattr(client, name)
    again = pickle.loads(pickle.dumps(service))
    assert type(again) is type(service)
    assert again._calls.connection == client._calls.connection
    again._calls.close()


def test_methods_are_mapped_over_processes(client: demur.Client, rows: Maker) -> None:
    batches = [rows(n) for n in (2, 3, 4)]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        costs = list(pool.map(client.vessel.cost, batches))
    for batch, cost in zip(batches, costs, strict=True):
        np.testing.assert_array_equal(cost, client.vessel.cost(batch))


async def test_asynchronous_clients_too(target: str, rows: Maker) -> None:
    async with demur.aconnect(target, timeout=7.0, actor="anna") as client:
        for made in (copy.deepcopy(client), pickle.loads(pickle.dumps(client))):
            async with made as again:
                assert type(again) is demur.AsyncClient
                assert again._calls.connection.timeout == 7.0
                assert len(await again.vessel.predict(rows(2))) == 2


def test_a_token_of_the_environment_is_read_again(
    monkeypatch: pytest.MonkeyPatch, target: str, vessel: object, rows: Maker
) -> None:
    monkeypatch.setenv("DEMUR_TOKEN", "here")
    with demur.connect(target) as client:
        carried = pickle.dumps(client)
    assert b"here" not in carried
    monkeypatch.setenv("DEMUR_TOKEN", "there")
    with pickle.loads(carried) as again:
        again.vessel.predict(rows(1))
    assert vessel.metadata["authorization"] == "Bearer there"  # type: ignore[attr-defined]


def test_secrets_of_the_caller_are_copied_but_not_pickled(target: str, vessel: object, rows: Maker) -> None:
    with demur.connect(target, token="secret") as client:
        for part in (client, client.vessel, client.vessel.predict, client.labels):
            with pytest.raises(pickle.PicklingError, match=r"token=\.\.\..*DEMUR_TOKEN"):
                pickle.dumps(part)
        assert "secret" not in repr(client._calls.connection)
        with copy.deepcopy(client) as again:
            again.vessel.predict(rows(1))
    assert vessel.metadata["authorization"] == "Bearer secret"  # type: ignore[attr-defined]
    with demur.connect(target, token="") as client:
        pickle.dumps(client)
