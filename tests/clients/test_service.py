"""The client against the vessel service itself: its pipeline, its model, its gRPC server."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import demur
from demur.v1 import common_pb2, vessel_pb2
from examples.predict import USUAL
from tests.vessel_service import vessel_service


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with vessel_service() as address:
        yield address


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


def test_labels_of_training_rows_are_described(target: str) -> None:
    with demur.connect(target) as client:
        described = client.vessel.describe()
    labels = described.heads[0].training_labels
    assert labels is not None
    assert (labels.column, len(labels.values), len(labels.labels)) == ("stw", 200, 200)
    (speed,) = [feature for feature in described.features if feature.name == "stw"]
    assert speed.trained_lower - 3 < min(labels.values) <= max(labels.values) < speed.trained_upper + 3
    assert 0 < min(labels.labels) < max(labels.labels) < 60_000, "kW"


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


ROW = USUAL | {"stw": 15.55075593952484, "timeSinceDryDock": 525_600.0}
"""A row in the declared units: 8 m/s, and 365 days since the dry dock."""


@pytest.mark.parametrize("library", ["astropy", "pint", "xarray"])
def test_a_speed_is_the_same_in_every_unit(target: str, library: str) -> None:
    module = pytest.importorskip({"astropy": "astropy.units"}.get(library, library))
    metres_a_second: dict[str, Callable[[], Any]] = {
        "astropy": lambda: np.array([8.0]) * module.m / module.s,
        "pint": lambda: module.UnitRegistry().Quantity([8.0], "m/s"),
        "xarray": lambda: module.DataArray([8.0], dims="time", attrs={"units": "m s-1"}),
    }
    rows = ROW | {"stw": metres_a_second[library](), "timeSinceDryDock": np.timedelta64(365, "D")}
    with demur.connect(target) as client:
        plain = client.vessel.predict(ROW, purpose="explore")
        converted = client.vessel.predict(rows, purpose="explore")
        (streamed,) = client.vessel.stream([rows])
    np.testing.assert_allclose(converted.mean, plain.mean, rtol=1e-6)
    np.testing.assert_allclose(streamed.mean, plain.mean, rtol=1e-6)


async def test_declared_units_are_converted_here_and_checked_there(target: str) -> None:
    rows, units = ROW | {"stw": 8.0}, {"stw": "m/s"}
    with demur.connect(target) as client:
        plain = client.vessel.predict(ROW, purpose="explore")
        np.testing.assert_allclose(
            client.vessel.predict(rows, units=units, purpose="explore").mean, plain.mean, rtol=1e-6
        )
        (streamed,) = client.vessel.stream([rows], units=units)
        np.testing.assert_allclose(streamed.mean, plain.mean, rtol=1e-6)
        with pytest.raises(demur.InvalidInput) as here:
            client.vessel.predict(rows, units={"stw": "m"})
        columns = [
            common_pb2.NamedColumn(name=name, values=[value], unit="m" if name == "stw" else "")
            for name, value in rows.items()
        ]
        request = vessel_pb2.VesselPredictRequest(rows=common_pb2.Rows(named=common_pb2.NamedColumns(columns=columns)))
        calls = client.vessel._calls
        with pytest.raises(demur.InvalidInput) as there:
            calls.unary(client.vessel._stub.Predict, request, calls.deadline(5))
        for name in ("code", "field", "value", "unit"):
            assert getattr(here.value, name) == getattr(there.value, name)
        with pytest.raises(demur.InvalidInput, match="'speed' of units is not a column"):
            next(client.vessel.stream([rows], units={"speed": "m/s"}))
    async with demur.aconnect(target) as client:
        answer = await client.vessel.predict(rows, units=units, purpose="explore")
        np.testing.assert_allclose(answer.mean, plain.mean, rtol=1e-6)
        (answer,) = [answer async for answer in client.vessel.stream([rows], units=units)]
        np.testing.assert_allclose(answer.mean, plain.mean, rtol=1e-6)


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
        with pytest.raises(demur.InvalidInput, match="rows = 0: must be at least 1"):
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


async def test_another_task_than_was_called_is_named(target: str) -> None:
    """By the service's own reflection."""
    port = int(target.rpartition(":")[2])
    words = f"the service at {target} is vessel, not weather; give the gRPC port of weather, by default 4001"
    with demur.connect(target) as client:
        with pytest.raises(demur.WrongAddress, match=words) as raised:
            client.weather.describe()
        assert f"(here 127.0.0.1:{port - 4})" in str(raised.value)
        with pytest.raises(demur.WrongAddress, match="is vessel, not lesion"):
            client.lesion.predict(b"no scan")
        with pytest.raises(demur.WrongAddress, match="is vessel, not translation"):
            list(client.translation.predict_many(["One."]))
    async with demur.aconnect(target) as client:
        with pytest.raises(demur.WrongAddress, match=words):
            await client.weather.describe()
        with pytest.raises(demur.WrongAddress, match="is vessel, not translation"):
            async for _ in client.translation.predict_many(["One."]):
                pass


def test_cost_of_the_service(target: str, asked: np.ndarray) -> None:
    with demur.connect(target) as client:
        answer = client.vessel.predict(asked, purpose="explore", defer_above=600.0**2)
        cost = client.vessel.cost(asked, 3.0, defer_above=600.0**2)
    assert 0 < answer.deferred.sum() < len(asked)
    expected = np.where(answer.deferred, np.inf, answer.mean + 3.0 * np.sqrt(answer.total))
    np.testing.assert_allclose(cost, expected, rtol=1e-5)
