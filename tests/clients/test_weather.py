"""Weather over a real socket: two heads a row, each with its own uncertainty and decisions."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import demur
from demur.v1 import common_pb2 as common
from demur.v1 import weather_pb2 as wire
from tests.clients import readme
from tests.clients.stand_in import PROFILE, serving
from tests.clients.weather_service import CLASS_NAMES, METADATA, NAMES, WeatherStandIn, members_of, some_rows


@pytest.fixture
def weather() -> WeatherStandIn:
    return WeatherStandIn()


@pytest.fixture
def target(weather: WeatherStandIn) -> Iterator[str]:
    with serving(weather) as where:
        yield where


@pytest.fixture(scope="module")
def shared() -> Iterator[demur.Client]:
    """One connection for the many questions of a property."""
    with serving(WeatherStandIn()) as where, demur.connect(where, timeout=10) as opened:
        yield opened


def test_heads_are_the_models(client):
    batch = some_rows(80)
    means, probabilities = members_of(batch)
    answer = client.weather.predict(batch, members=True)
    temperature, precipitation = answer.temperature, answer.precipitation
    np.testing.assert_array_equal(temperature.mean, means.mean(axis=0))
    np.testing.assert_array_equal(temperature.member_means, means)
    np.testing.assert_allclose(temperature.total, temperature.data + temperature.knowledge, rtol=1e-6)
    np.testing.assert_array_equal(precipitation.probabilities, probabilities.mean(axis=0))
    np.testing.assert_array_equal(precipitation.member_probabilities, probabilities)
    np.testing.assert_array_equal(precipitation.classes, probabilities.mean(axis=0).argmax(axis=-1))
    np.testing.assert_allclose(precipitation.total, precipitation.data + precipitation.knowledge, atol=1e-6)
    for head in (temperature, precipitation):
        np.testing.assert_array_equal(head.deferred, ~(head.uncertainty <= np.float32(head.threshold)))
        assert 0 < head.deferred.sum() < 80
        assert not head.answered
        assert len(head) == len(head.prediction_ids) == 80
        assert (head.model, head.profile, head.recorded) == ("weather:1", PROFILE, True)
        assert set(head.shift_reasons) == {(), ("outside_training_range",)}
    assert (temperature.measure, precipitation.measure) == ("tvar", "confidence")
    assert (temperature.policy, precipitation.policy) == ("p-temperature", "p-precipitation")
    assert precipitation.class_names == CLASS_NAMES
    assert not set(temperature.prediction_ids) & set(precipitation.prediction_ids)
    low, high = temperature.interval(0.9)
    np.testing.assert_allclose(high - low, 2 * 1.7 * np.sqrt(temperature.total), rtol=1e-4)
    assert (len(answer), answer.model, answer.profile) == (80, "weather:1", PROFILE)
    assert (answer.recorded, answer.answered) == (True, False)
    assert list(answer.heads) == ["temperature", "precipitation"]


def test_arrays_are_read_only(client):
    answer = client.weather.predict(some_rows(3), members=True)
    precipitation = answer.precipitation
    for array in (precipitation.probabilities, precipitation.member_probabilities, precipitation.classes):
        assert not array.flags.writeable
    assert precipitation.probabilities.dtype == precipitation.total.dtype == np.float32
    assert precipitation.classes.dtype == np.int64
    with pytest.raises(AttributeError):
        answer.temperature = None


def test_members_only_on_request(client):
    answer = client.weather.predict(some_rows(3))
    assert answer.precipitation.member_probabilities is None
    assert answer.temperature.member_means is None


def test_what_it_shows_of_itself_is_readable(client):
    answer = client.weather.predict(some_rows(80))
    deferred = [int(head.deferred.sum()) for head in answer.heads.values()]
    assert repr(answer).startswith(f"<WeatherAnswer: 80 rows, temperature ({deferred[0]} deferred, ")
    assert f"precipitation ({deferred[1]} deferred, " in repr(answer)
    assert len(repr(answer)) < 160
    assert repr(answer.precipitation).startswith(f"<CategoricalAnswer: 80 rows, {deferred[1]} deferred")
    assert repr(client.weather.predict(some_rows(1))).startswith("<WeatherAnswer: 1 row, ")


@pytest.mark.parametrize("head", ["temperature", "precipitation"])
def test_a_head_that_the_model_lacks_is_none(client, weather, head):
    weather.heads = (head,)
    answer = client.weather.predict(some_rows(5))
    (joined,) = client.weather.stream([some_rows(5)], chunk_rows=2)
    for result in (answer, joined):
        assert list(result.heads) == [head]
        assert (result.temperature is None) == (head == "precipitation")
        assert (result.precipitation is None) == (head == "temperature")
        assert len(result) == len(result.prediction_ids) == 5
        assert head in repr(result)
        assert {name.partition(".")[0] for name in result.to_dict()} == {head}


def test_withheld_predictions_have_no_class(client, weather):
    weather.withhold = True
    answer = client.weather.predict(some_rows(60))
    precipitation = answer.precipitation
    np.testing.assert_array_equal(precipitation.classes == -1, precipitation.deferred)
    np.testing.assert_array_equal(np.isnan(precipitation.probabilities).all(axis=1), precipitation.deferred)
    np.testing.assert_array_equal(np.isnan(answer.temperature.mean), answer.temperature.deferred)
    assert 0 < precipitation.deferred.sum() < 60


def test_no_rows_give_an_empty_answer(client):
    answer = client.weather.predict(some_rows(0))
    assert len(answer) == len(answer.precipitation.classes) == len(answer.prediction_ids) == 0
    assert answer.precipitation.probabilities.shape == (0, 3)
    assert answer.answered
    assert {len(values) for values in answer.to_dict().values()} == {0}


def test_wishes_travel_by_head(client, weather):
    wish = {"temperature": 1.6, "precipitation": -0.9}
    batch = some_rows(50)
    plain, stricter = client.weather.predict(batch), client.weather.predict(batch, defer_above=wish)
    (streamed,) = client.weather.stream([batch], defer_above=wish)
    for question in weather.questions[1:]:
        assert dict(question.defer_above_by_head) == pytest.approx(wish)
        assert not question.HasField("defer_above")
    for name, limit in wish.items():
        for answer in (stricter, streamed):
            head = answer.heads[name]
            np.testing.assert_array_equal(
                head.decisions == common.DECISION_CALLER_DEFERRED,
                (head.uncertainty > np.float32(limit)) & ~plain.heads[name].deferred,
            )
            assert (head.decisions == common.DECISION_CALLER_DEFERRED).any()


def test_one_number_for_several_heads_is_refused_by_the_service(client, weather):
    with pytest.raises(demur.InvalidInput, match="of which head"):
        client.weather.predict(some_rows(2), defer_above=1.0)
    with pytest.raises(demur.InvalidInput, match="no such head"):
        client.weather.predict(some_rows(2), defer_above={"rain": 1.0})
    weather.heads = ("temperature",)
    assert client.weather.predict(some_rows(2), defer_above=-1.0).temperature.deferred.all()


@pytest.mark.parametrize("wish", [{"temperature": float("nan")}, {"temperature": "1"}, {"temperature": None}, "1"])
def test_wishes_that_are_no_numbers_are_named(client, weather, wish):
    for ask in (client.weather.predict, lambda rows, **option: client.weather.stream([rows], **option)):
        with pytest.raises(demur.InvalidInput) as caught:
            ask(some_rows(1), defer_above=wish)
        assert caught.value.field == "defer_above"
    assert weather.questions == []


def test_answers_heads_and_ids_can_be_committed(client, weather):
    answer = client.weather.predict(some_rows(7), purpose="explore")
    assert client.weather.commit(answer).units == 14
    assert client.weather.commit(answer.precipitation).units == 7
    assert client.weather.commit(answer.temperature.prediction_ids[2:4]).units == 2
    assert client.weather.commit(answer.temperature.prediction_ids[3]).units == 1
    runs = [[(run.first, run.count) for run in request.units] for request in weather.commits]
    assert runs == [[(0, 7), (7, 7)], [(7, 7)], [(2, 2)], [(3, 1)]]


def test_description_tells_metadata_classes_flags_and_sentinels(client):
    described = client.weather.describe()
    assert described.metadata == METADATA
    assert [head.class_names for head in described.heads] == [(), CLASS_NAMES]
    by_name = {feature.name: feature for feature in described.features}
    assert by_name["gfs_available"].values == (0.0, 1.0)
    assert by_name["gfs_soil_temperature"].sentinels == (-9999.0,)
    assert by_name["gfs_humidity"].values == by_name["gfs_humidity"].sentinels == ()


def contents(answer: demur.WeatherAnswer) -> dict[str, Any]:
    """All arrays of an answer but the identities, which differ from question to question."""
    fields = {
        name: values for name, values in answer.to_dict().items() if not name.endswith(("_id", "shifted", "reasons"))
    }
    fields["means"] = answer.temperature.member_means
    fields["variances"] = answer.temperature.member_variances
    fields["probabilities"] = answer.precipitation.member_probabilities
    for name, head in answer.heads.items():
        fields[f"{name} decided"] = np.array([head.threshold, *head.decisions, head.recorded])
        fields[f"{name} said"] = np.array([head.measure, head.policy, head.model, head.profile])
    return fields


def assert_same(answer: demur.WeatherAnswer, other: demur.WeatherAnswer) -> None:
    mine, its = contents(answer), contents(other)
    assert list(mine) == list(its)
    for name in mine:
        np.testing.assert_array_equal(mine[name], its[name], err_msg=name)
    assert (answer.model, answer.profile, answer.recorded) == (other.model, other.profile, other.recorded)
    assert answer.precipitation.class_names == other.precipitation.class_names
    assert all(len(set(head.prediction_ids)) == len(other) for head in other.heads.values())


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(1, 50), st.integers(1, 5), st.integers(0, 99))
def test_a_stream_put_together_is_the_unary_answer(shared, sizes, chunk_rows, window, seed):
    batches = [some_rows(size, seed) for size in sizes]
    streamed = shared.weather.stream(
        batches, purpose="decide", members=True, chunk_rows=chunk_rows, window=window, defer_above={"temperature": 1.6}
    )
    with closing(streamed):
        for batch, answer in zip(batches, streamed, strict=True):
            whole = shared.weather.predict(batch, members=True, defer_above={"temperature": 1.6})
            if len(batch):
                assert_same(whole, answer)
            assert len(answer) == len(batch)


async def test_asynchronously_too(target, client):
    batches = [some_rows(size) for size in (3, 0, 17, 40)]
    expected = [client.weather.predict(batch, members=True) for batch in batches]
    async with demur.aconnect(target, timeout=10) as opened:
        assert (await opened.weather.describe()) == client.weather.describe()
        answers = await asyncio.gather(*(opened.weather.predict(batch, members=True) for batch in batches))
        streamed = [item async for item in opened.weather.stream(batches, purpose="decide", members=True, chunk_rows=7)]
        assert (await opened.weather.commit(answers[0])).units == 6
    for whole, answer, joined in zip(expected, answers, streamed, strict=True):
        if len(whole):
            assert_same(whole, answer)
            assert_same(whole, joined)


def test_a_column_that_is_missing_sends_nothing(client, weather):
    client.weather.describe()
    columns = dict(zip(NAMES, some_rows(3).T, strict=True))
    del columns["gfs_humidity"]
    with pytest.raises(demur.InvalidInput, match="'gfs_humidity' is missing"):
        client.weather.predict(columns)
    assert weather.rows == []


def test_long_refusals_arrive_whole(client, weather, monkeypatch):
    """By default a client drops trailing metadata above 8 kB, some at random: the error would become another."""
    detail = common.ErrorDetail(code="unknown_column", field="x", message="°" * 5000, allowed="name, " * 3000, index=-1)
    monkeypatch.setattr(weather, "_refused", lambda request: detail)
    with pytest.raises(demur.InvalidInput) as caught:
        client.weather.predict(some_rows(1))
    assert (caught.value.code, str(caught.value), caught.value.allowed) == (detail.code, detail.message, detail.allowed)


def test_the_weather_of_the_readme_runs(target, weather, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    frame = pandas.DataFrame(some_rows(30), columns=NAMES)
    for name in METADATA:
        frame[name] = "text"
    frame.to_csv("weather.csv", index=False)
    namespace = readme.run("weather", "127.0.0.1:4001", target)
    assert list(namespace["table"].columns) == list(namespace["answer"].to_dict())
    np.testing.assert_array_equal(weather.rows[0], some_rows(30))
    assert sum(run.count for run in weather.commits[0].units) == 60


def malformed(change: str) -> wire.WeatherPredictResponse:
    response = WeatherStandIn()._answer(
        common.Rows(packed=common.PackedRows(row_count=2, values=some_rows(2).tobytes())),
        wire.WeatherPredictRequest(members=True),
    )
    if change == "no head":
        response.ClearField("temperature")
        response.ClearField("precipitation")
    elif change == "no classes":
        response.precipitation.classes = 0
        response.precipitation.probabilities = response.precipitation.member_probabilities = b""
    elif change == "other length":
        response.temperature.CopyFrom(
            WeatherStandIn()
            ._answer(
                common.Rows(packed=common.PackedRows(row_count=1, values=some_rows(1).tobytes())),
                wire.WeatherPredictRequest(),
            )
            .temperature
        )
    elif change == "probabilities":
        response.precipitation.probabilities = response.precipitation.probabilities[:-4]
    elif change == "members":
        response.precipitation.member_probabilities = response.precipitation.member_probabilities[:-4]
    return response


@pytest.mark.parametrize("change", ["no head", "no classes", "other length", "probabilities", "members"])
def test_a_broken_promise_is_no_answer(client, weather, monkeypatch, change):
    monkeypatch.setattr(weather, "_answer", lambda rows, manner: malformed(change))
    for ask in (client.weather.predict, lambda rows: list(client.weather.stream([rows]))):
        with pytest.raises(demur.ServiceFailure) as caught:
            ask(some_rows(2))
        assert caught.value.code == "malformed"


def test_heads_that_change_within_a_batch_are_no_answer(client, weather):
    def changing(size):
        yield some_rows(size)

    original, weather.max_rows = weather._answer, 2

    def answer(rows, manner):
        weather.heads = ("temperature",) if len(weather.rows) else ("temperature", "precipitation")
        return original(rows, manner)

    weather._answer = answer
    with pytest.raises(demur.ServiceFailure, match="heads changed"):
        list(client.weather.stream(changing(4)))
