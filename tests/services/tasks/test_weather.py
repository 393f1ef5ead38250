"""The weather task over both protocols: equal numbers, members on request, wishes by head, and what is withheld."""

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
import numpy as np
import pytest

from demur.v1 import common_pb2, weather_pb2
from models.artefact import Artefact
from models.executors.members import Members
from models.executors.reduced import Reduced
from models.tasks.weather.inference import serving as opening
from models.tasks.weather.spec import CLASS_NAMES, CLASSES
from services.policy.decision import Decision
from tests.contract.serving import detail
from tests.models.weather.tiny import METADATA, SCHEMA, Tiny
from tests.services.tasks.documents import misfits
from tests.services.weather import Json, Rows, Served, by_row, named, numbers, packed, serving

KINDS = ("trees", "single", "virtual", "combined", "dry")
FIELDS = {
    "temperature": ("mean", "total", "data", "knowledge"),
    "precipitation": ("probabilities", "total", "data", "knowledge"),
}


def array(values: Any) -> Rows:
    """JSON numbers as float32; null is NaN."""
    return np.array(values, np.float64).astype(np.float32)


def same(answer: Json, message: weather_pb2.WeatherPredictResponse) -> None:
    """All that both protocols tell of decided rows, bit by bit."""
    heads = [head for head in FIELDS if message.HasField(head)]
    assert heads == [head for head in FIELDS if head in answer]
    assert (answer["model"], answer["recorded"]) == (message.model, message.recorded)
    assert answer["profile"] == message.profile != ""
    for head in heads:
        json_head, other = answer[head], getattr(message, head)
        for field in FIELDS[head]:
            if json_head[field] is None:
                assert getattr(other, field) == b""
                continue
            actual = array(json_head[field])
            np.testing.assert_array_equal(actual, numbers(getattr(other, field), *actual.shape))
        deferral = other.deferral
        uncertainty = numbers(deferral.uncertainty)
        np.testing.assert_array_equal(
            array(json_head["uncertainty"]), np.where(np.isinf(uncertainty), np.nan, uncertainty)
        )
        assert json_head["decision"] == [Decision(value).name for value in deferral.decisions]
        assert [len(reasons) for reasons in json_head["shifted"]] == [
            bin(value).count("1") for value in deferral.shifts
        ]
        assert (json_head["policy"], json_head["measure"]) == (deferral.policy, deferral.measure)
        assert json_head["threshold"] == deferral.threshold or (
            json_head["threshold"] is None and deferral.threshold == -np.inf
        )


@pytest.mark.parametrize("kind", KINDS)
async def test_both_protocols_and_all_forms_say_the_same(tiny: Tiny, kind: str) -> None:
    rows = tiny.rows[:60]
    async with serving(getattr(tiny, kind)) as served:
        columns, message = await served.answer(rows), await served.message(rows)
        same(columns, message)
        status, objects = await served.json(by_row(rows))
        assert status == 200
        same(objects, await served.message(named(rows)))
        for head in FIELDS.keys() & columns.keys():
            for field in (*FIELDS[head], "decision", "uncertainty"):
                assert columns[head][field] == objects[head][field]
        if "precipitation" in columns:
            wet = columns["precipitation"]
            assert wet["class"] == array(wet["probabilities"]).argmax(axis=1).tolist()
            np.testing.assert_allclose(array(wet["probabilities"]).sum(axis=1), 1, rtol=1e-5)
            assert message.precipitation.classes == CLASSES
            assert (wet["knowledge"] is None) == (kind == "single") == (wet["data"] is None)
        assert set(columns["temperature"]["decision"]) == {"ANSWER", "DEFER"}


async def test_predictions_are_the_members_own(tiny: Tiny) -> None:
    """From the wire back to the library: what is served is what the models say."""
    rows = tiny.rows[:30]
    outputs = opening.members(tiny.trees)(rows)
    async with serving(tiny.trees) as served:
        answer = await served.answer(rows, members=True)
        message = await served.message(rows, members=True)
        plain = await served.answer(rows)
    warm, wet = outputs["temperature"].astype(np.float64), outputs["precipitation"].astype(np.float64)
    np.testing.assert_allclose(answer["temperature"]["mean"], warm[..., 0].mean(axis=0), rtol=1e-5)
    total = warm[..., 1].mean(axis=0) + warm[..., 0].var(axis=0)
    np.testing.assert_allclose(answer["temperature"]["total"], total, rtol=1e-5)
    np.testing.assert_allclose(answer["precipitation"]["probabilities"], wet.mean(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(np.float32(answer["temperature"]["member_means"]), outputs["temperature"][..., 0])
    np.testing.assert_array_equal(np.float32(answer["temperature"]["member_variances"]), outputs["temperature"][..., 1])
    np.testing.assert_array_equal(np.float32(answer["precipitation"]["member_probabilities"]), outputs["precipitation"])
    np.testing.assert_array_equal(numbers(message.temperature.member_means, 3, 30), outputs["temperature"][..., 0])
    np.testing.assert_array_equal(numbers(message.temperature.member_variances, 3, 30), outputs["temperature"][..., 1])
    over_grpc = numbers(message.precipitation.member_probabilities, 3, 30, CLASSES)
    np.testing.assert_array_equal(over_grpc, outputs["precipitation"])
    for name in ("member_means", "member_variances"):
        assert name not in plain["temperature"]
    assert "member_probabilities" not in plain["precipitation"]


async def test_what_is_withheld_is_in_no_field(tiny: Tiny) -> None:
    rows = tiny.rows[:80]
    async with serving(tiny.trees, withhold=True, target_retention=0.6) as served:
        answer, message = await served.answer(rows, members=True), await served.message(rows, members=True)
        same(answer, message)
        for head, fields in FIELDS.items():
            deferred = np.array([decision == "DEFER" for decision in answer[head]["decision"]])
            assert 0 < deferred.sum() < 80
            for field in fields:
                hidden = np.isnan(array(answer[head][field])).reshape(80, -1)
                assert hidden[deferred].all()
                assert not hidden[~deferred].any()
            assert not [name for name in answer[head] if name.startswith("member")]
        wet = np.array([decision == "DEFER" for decision in answer["precipitation"]["decision"]])
        assert [category is None for category in answer["precipitation"]["class"]] == wet.tolist()
        assert message.temperature.member_means == message.temperature.member_variances == b""
        assert message.precipitation.member_probabilities == b""
        stricter = await served.answer(rows, defer_above={"temperature": 0.0, "precipitation": -2.0})
        shown = stricter["precipitation"]
        for decided, label in zip(shown["decision"], shown["class"], strict=True):
            assert (label is None) == (decided == "DEFER"), "what the caller himself deferred is not hidden"


async def test_a_wish_is_for_one_head(tiny: Tiny) -> None:
    rows = tiny.rows[:50]
    async with serving(tiny.trees) as served:
        plain = await served.answer(rows)
        for wish in ({"temperature": 2.5}, {"precipitation": -0.95}, {"temperature": 2.5, "precipitation": -0.95}):
            answer = await served.answer(rows, defer_above=wish)
            message = await served.message(rows, defer_above_by_head=wish)
            same(answer | {"recorded": False}, message)
            for head in FIELDS:
                assert ("CALLER_DEFERRED" in answer[head]["decision"]) == (head in wish)
                for before, after, score in zip(
                    plain[head]["decision"], answer[head]["decision"], answer[head]["uncertainty"], strict=True
                ):
                    stricter = head in wish and np.float32(score) > np.float32(wish[head])
                    assert after == ("CALLER_DEFERRED" if before == "ANSWER" and stricter else before)


WISHES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a number for two heads": (2.5, {"defer_above": 2.5}, "head_needed"),
    "a head that is none": ({"power": 1.0}, {"defer_above_by_head": {"power": 1.0}}, "unknown_head"),
    "NaN": (None, {"defer_above_by_head": {"temperature": np.nan}}, "not_finite"),
    "both forms": (None, {"defer_above": 1.0, "defer_above_by_head": {"temperature": 1.0}}, "two_goals"),
    "text": ({"temperature": "hot"}, {}, "not_a_body"),
}


@pytest.mark.parametrize("name", WISHES)
async def test_wishes_that_are_refused(tiny: Tiny, name: str) -> None:
    json_wish, wishes, code = WISHES[name]
    async with serving(tiny.trees) as served:
        if json_wish is not None:
            error = await served.refusal(by_row(tiny.rows[:1]) | {"defer_above": json_wish})
            assert (error["code"], error["status"]) == (code, 422)
        if wishes:
            error = await served.refused(tiny.rows[:1], **wishes)
            assert (error["code"], error["status"]) == (code, "INVALID_ARGUMENT")
            begin = weather_pb2.WeatherStreamRequest(begin=common_pb2.StreamBegin(**wishes))
            # The first frame alone: grpc.aio may report INTERNAL if the refusal arrives while another is being sent.
            assert code in (await ended(served, [begin]) or await ended(served, [begin, chunk(0, tiny.rows[:1])]))


async def test_with_one_head_a_wish_may_be_a_bare_number(tiny: Tiny) -> None:
    rows = tiny.rows[:40]
    async with serving(tiny.dry) as served:
        answer = await served.answer(rows, defer_above=2.5)
        same(answer, await served.message(rows, defer_above=2.5))
        same(answer, await served.message(rows, defer_above_by_head={"temperature": 2.5}))
        assert "CALLER_DEFERRED" in answer["temperature"]["decision"]
        assert "precipitation" not in answer
        error = await served.refused(rows[:1], defer_above_by_head={"precipitation": -1.0})
        assert (error["code"], error["allowed"]) == ("unknown_head", "temperature")


def chunk(sequence: int, rows: Rows | common_pb2.Rows) -> weather_pb2.WeatherStreamRequest:
    message_rows = packed(rows) if isinstance(rows, np.ndarray) else rows
    return weather_pb2.WeatherStreamRequest(chunk=weather_pb2.WeatherChunk(sequence=sequence, rows=message_rows))


async def streamed(served: Served, frames: Iterable[Any]) -> list[weather_pb2.WeatherStreamResponse]:
    async def requests() -> AsyncIterator[Any]:
        for frame in frames:
            yield frame

    return [answer async for answer in served.stub.PredictStream(requests())]


async def ended(served: Served, frames: Iterable[Any]) -> set[str]:
    """Codes of what went wrong: of the stream, or of its chunks."""
    try:
        answers = await streamed(served, frames)
    except grpc.aio.AioRpcError as error:
        return {detail(error)["code"]}
    return {answer.error.error.code for answer in answers if answer.WhichOneof("frame") == "error"}


async def test_a_stream_says_what_single_calls_say(tiny: Tiny) -> None:
    rows, wish = tiny.rows[:90], {"temperature": 3.0}
    begin = common_pb2.StreamBegin(purpose=common_pb2.PURPOSE_EXPLORE, members=True, defer_above_by_head=wish)
    async with serving(tiny.trees) as served:
        single = await served.message(rows, members=True, defer_above_by_head=wish)
        frames = [weather_pb2.WeatherStreamRequest(begin=begin)]
        frames += [chunk(index, rows[index * 30 : index * 30 + 30]) for index in range(3)]
        frames.insert(2, chunk(9, named(rows[:1], snow_depth=[1.0])))
        accepted, *results, last = await streamed(served, frames)
    assert accepted.accepted.model == tiny.trees.tag
    assert accepted.accepted.profile == single.profile == results[0].result.answer.profile
    assert [result.WhichOneof("frame") for result in results] == ["result", "error", "result", "result"]
    assert (results[1].error.sequence, results[1].error.error.code) == (9, "unknown_column")
    answers = [result.result.answer for result in results if result.WhichOneof("frame") == "result"]
    for head, fields in FIELDS.items():
        for field in fields:
            assert b"".join(getattr(getattr(answer, head), field) for answer in answers) == getattr(
                getattr(single, head), field
            )
        decisions = b"".join(getattr(answer, head).deferral.decisions for answer in answers)
        assert decisions == getattr(single, head).deferral.decisions
    assert 3 in answers[0].temperature.deferral.decisions
    assert len(answers[0].precipitation.member_probabilities) == 3 * 30 * CLASSES * 4
    assert (last.progress.chunks_done, last.progress.units_done) == (4, 90)


class Extreme:
    """Members as released models have them: variances from 1e-16 to beyond float32, classes without any doubt."""

    heads = ("temperature", "precipitation")
    variances = np.array([1e-16, 1e37, 3.4e38, 1.0], np.float32)
    means = np.array([10.0, -3e19, 3e38, 5.0], np.float32)

    def __call__(self, rows: Rows) -> Members:
        kind = np.nan_to_num(rows[:, SCHEMA.position["cloudiness"]]).astype(int) % 4
        odd = np.arange(len(rows)) * 0 + kind
        warm = np.stack([self.means[odd], self.variances[odd]], axis=-1)
        other = np.stack([-self.means[odd], self.variances[(odd + 1) % 4]], axis=-1)
        wet = np.zeros((len(rows), CLASSES), np.float32)
        wet[np.arange(len(rows)), odd] = 1
        return {"temperature": np.stack([warm, other, warm]), "precipitation": np.stack([wet, wet[::-1], wet])}

    def measure(self, rows: Rows) -> None:
        pass


@pytest.mark.parametrize(
    "measures",
    [
        f"temperature={t},precipitation={p}"
        for t, p in zip(("tvar", "varm", "mvar", "epkl"), ("confidence", "mi", "rmi", "epkl"), strict=True)
    ]
    + ["precipitation=entropy"],
)
async def test_extreme_variances_reach_both_protocols_as_numbers(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, measures: str
) -> None:
    monkeypatch.setattr(opening, "members", lambda *_, **__: Extreme())
    monkeypatch.setattr("models.executors.golden.replay", lambda *_: 0.0)
    rows = np.repeat(tiny.rows[:1], 4, axis=0)
    rows[:, SCHEMA.position["cloudiness"]] = range(4)
    async with serving(tiny.trees, measures=measures) as served:
        response = await served.http.post("/v1/predict", json=by_row(rows) | {"members": True})
        answer = json.loads(response.content, parse_constant=lambda name: pytest.fail(name))
        message = await served.message(rows, members=True)
    same(answer, message)
    for head, fields in FIELDS.items():
        for field in fields:
            assert np.isfinite(array(answer[head][field])).all(), (head, field)
        deferral = getattr(message, head).deferral
        scores = numbers(deferral.uncertainty)
        assert (np.frombuffer(deferral.decisions, np.uint8) == 1).tolist() == (
            scores <= np.float32(deferral.threshold)
        ).tolist()
    impossible = ["impossible_prediction" in reasons for reasons in answer["temperature"]["shifted"]]
    assert impossible == [value is None for value in answer["temperature"]["uncertainty"]] == [True, True, True, False]
    assert np.isfinite(array(answer["precipitation"]["uncertainty"])).all()
    assert answer["temperature"]["decision"][1:3] == ["DEFER", "DEFER"]


def test_the_reduced_executor_of_extremes_has_finite_arrays() -> None:
    from models.tasks.weather.spec import HEADS

    rows = np.zeros((8, len(SCHEMA)), np.float32)
    rows[:, SCHEMA.position["cloudiness"]] = range(8)
    assert all(np.isfinite(array).all() for array in Reduced(Extreme(), HEADS, ensemble=True, members=True)(rows))


@pytest.mark.parametrize("kind", KINDS)
async def test_answers_and_questions_fit_the_document(tiny: Tiny, kind: str) -> None:
    """The OpenAPI document is what a client's generator believes."""
    rows = tiny.rows[:40].copy()
    rows[0, :4] = np.nan
    artefact: Artefact = getattr(tiny, kind)
    for withhold in (False, True):
        async with serving(artefact, withhold=withhold) as served:
            schemas = (await served.http.get("/v1/openapi.json")).json()["components"]["schemas"]
            answer = await served.answer(rows, members=True, intervals=True)
            assert ("temperature" in answer) == ("intervals" in answer.get("temperature", {}))
            assert misfits(answer, schemas["Answer"], schemas) == []
            assert misfits((await served.http.get("/v1/schema")).json(), schemas["Description"], schemas) == []
            assert misfits((await served.http.get("/v1/policy")).json(), schemas["Policies"], schemas) == []
            for head in set(FIELDS) & set(answer):
                assert set(answer[head]) <= set(schemas[f"{head.title()}Answer"]["properties"])
            questions: list[Json] = [by_row(rows), by_row(rows, climate="dry", fact_time=None)]
            wishes: list[Any] = [None, {"temperature": 1.0}] + ([2.0] if kind == "dry" else [])
            questions += [by_row(rows[:1]) | {"defer_above": wish} for wish in wishes]
            for question in questions:
                assert misfits(question, schemas["Request"], schemas) == []
                assert (await served.json(question))[0] == 200
            for wrong in (
                by_row(rows[:1], soil_available=0.5),
                by_row(rows[:1], elevation=None),
                by_row(rows[:1], snow_depth=1.0),
                by_row(rows[:1]) | {"defer_above": {"power": 1.0}},
            ):
                assert misfits(wrong, schemas["Request"], schemas)
                assert (await served.json(wrong))[0] == 422


async def test_a_flag_that_may_be_missing_is_null_in_the_document_too(tiny: Tiny) -> None:
    async with serving(tiny.trees) as served:
        schemas = (await served.http.get("/v1/openapi.json")).json()["components"]["schemas"]
        question = by_row(tiny.rows[:1], snowing=None)
        assert misfits(question, schemas["Request"], schemas) == []
        assert (await served.json(question))[0] == 200


async def test_the_description_tells_all_that_a_caller_needs(tiny: Tiny) -> None:
    async with serving(tiny.trees) as served:
        description = await served.stub.Describe(common_pb2.DescribeRequest())
        over_http = (await served.http.get("/v1/schema")).json()
        answer = await served.answer(tiny.rows[:3], intervals=True)
        message = await served.message(tiny.rows[:3], intervals=True)
    table, none = (head["intervals"] for head in over_http["heads"])
    assert table == answer["temperature"]["intervals"]
    assert description.heads[0].intervals == message.temperature.intervals
    for name, values in table.items():
        assert np.float32(values).tolist() == list(getattr(message.temperature.intervals, name)) != []
    assert none is None
    assert not description.heads[1].HasField("intervals")
    assert (description.task, description.model, description.schema_hash) == ("weather", tiny.trees.tag, SCHEMA.hash)
    assert list(description.metadata) == over_http["metadata"] == list(METADATA)
    by_name = {feature.name: feature for feature in description.features}
    assert list(by_name) == [feature["name"] for feature in over_http["features"]] == list(SCHEMA.names)
    assert list(by_name["soil_temperature"].sentinels) == [-9999]
    assert list(by_name["soil_available"].values) == [0, 1]
    assert over_http["features"][4]["sentinels"] == [-9999]
    assert by_name["soil_temperature"].trained_lower > -60
    warm, wet = description.heads
    assert (warm.name, warm.kind, warm.unit, warm.acceptable) == ("temperature", "gaussian", "°C", 1.0)
    assert (wet.name, wet.kind, list(wet.class_names)) == ("precipitation", "categorical", list(CLASS_NAMES))
