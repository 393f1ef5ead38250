"""Tables of intervals: described once, and in an answer of each protocol only where the request asks for them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import grpc
import numpy as np
import pytest

import demur
from demur.v1 import common_pb2, vessel_pb2
from demur.v1.vessel_pb2_grpc import VesselServiceStub
from models.calibration import IntervalTable
from services.request.contract import Call, Priority
from services.request.joint_pass import SmallRequest
from services.request.row_task import IntervalsOption, Packed, RowsRequest
from services.transport.head_answer import intervals_digest
from tests.contract.serving import Served, serving
from tests.services.tabular import ROWS, TABULAR

TABLE = {"levels": [0.5, 0.95], "multipliers": [0.7, 2.0]}
OTHER = IntervalTable(100, (0.5, 0.95), (0.9, 3.0))
VALUES = np.array([[2, 0.5], [3, 9]], "<f4")
PACKED = common_pb2.Rows(packed=common_pb2.PackedRows(row_count=2, values=VALUES.tobytes()))
FORMS = (
    ROWS,
    {"columns": {"speed": [2.0, 3.0], "wave": [0.5, 9.0]}},
    {"matrix": {"columns": ["wave", "speed"], "values": [0.5, 2.0, 9.0, 3.0]}},
    {"columns": {"speed": [2.0], "wave": [0.5]}, "units": {"speed": "m/s"}, "members": True},
)


def request(**options: Any) -> Any:
    return vessel_pb2.VesselPredictRequest(rows=PACKED, **options)


def table(answer: Any) -> dict[str, list[float]] | None:
    """The table in an answer over gRPC."""
    if not answer.power.HasField("intervals"):
        return None
    intervals = answer.power.intervals
    return {name: np.round(getattr(intervals, name), 6).tolist() for name in TABLE}


async def streamed(stub: Any, *frames: dict[str, Any]) -> list[Any]:
    """The answers to chunks of a stream."""
    requests = (vessel_pb2.VesselStreamRequest(**frame) for frame in frames)
    return [
        frame.result.answer async for frame in stub.PredictStream(requests) if frame.WhichOneof("frame") == "result"
    ]


def chunks(count: int) -> list[dict[str, Any]]:
    return [{"chunk": vessel_pb2.VesselChunk(sequence=place, rows=PACKED)} for place in range(count)]


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Served, Any]]:
    async with serving(TABULAR) as service:
        yield service, VesselServiceStub(service.channel)


@asynccontextmanager
async def agent(service: Served, name: str) -> AsyncIterator[Any]:
    """A stub whose calls have the user agent of a client."""
    options = (("grpc.primary_user_agent", name),)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.server.port}", options=options) as channel:
        yield VesselServiceStub(channel)


@pytest.mark.parametrize("form", FORMS)
async def test_json_of_each_form_has_them_on_request(form: dict[str, Any]) -> None:
    async with served() as (service, _):

        async def power(**options: Any) -> dict[str, Any]:
            response = await service.http.post("/v1/predict", json=form | options)
            assert response.status_code == 200, response.text
            answer: dict[str, Any] = response.json()["power"]
            return answer | {"prediction_ids": []}

        bare = await power()
        assert "intervals" not in bare
        assert await power(intervals=False) == bare
        assert await power(intervals=True) == bare | {"intervals": TABLE}


async def test_the_option_is_a_truth_value() -> None:
    async with served() as (service, _):
        response = await service.http.post("/v1/predict", json=ROWS | {"intervals": 1})
        assert response.status_code == 422
        doubled = json.dumps(ROWS)[:-1] + ', "intervals": true, "intervals": false}'
        response = await service.http.post("/v1/predict", content=doubled)
        assert response.json()["error"]["code"] == "doubled_column", response.text


async def test_descriptions_have_them() -> None:
    async with served() as (service, stub):
        described = await stub.Describe(common_pb2.DescribeRequest())
        (head,) = described.heads
        (over_http,) = (await service.http.get("/v1/schema")).json()["heads"]
        assert over_http["intervals"] == TABLE
        assert (over_http["training_labels"], head.HasField("training_labels")) == (None, False)
        assert {name: np.round(getattr(head.intervals, name), 6).tolist() for name in TABLE} == TABLE
        assert described.intervals_digest == intervals_digest(service.tenant.intervals) != 0
        service.tenant.intervals["power"] = None  # type: ignore[index]
        without = await stub.Describe(common_pb2.DescribeRequest())
        assert not without.heads[0].HasField("intervals")
        assert without.intervals_digest not in (0, described.intervals_digest)
        assert (await service.http.get("/v1/schema")).json()["heads"][0]["intervals"] is None


async def test_messages_have_them_on_request_unless_they_are_known() -> None:
    async with served() as (service, stub):
        digest = (await stub.Describe(common_pb2.DescribeRequest())).intervals_digest
        assert table(await stub.Predict(request())) is None
        assert table(await stub.Predict(request(known_intervals=digest + 1))) is None
        assert table(await stub.Predict(request(intervals=True))) == TABLE
        assert table(await stub.Predict(request(intervals=True, known_intervals=digest))) is None
        assert table(await stub.Predict(request(intervals=True, known_intervals=digest ^ 1))) == TABLE
        service.tenant.intervals["power"] = OTHER  # type: ignore[index]
        known = await stub.Predict(request(intervals=True, known_intervals=digest))
        assert table(known) == {"levels": [0.5, 0.95], "multipliers": [0.9, 3.0]}
        service.tenant.intervals["power"] = None  # type: ignore[index]
        assert table(await stub.Predict(request(intervals=True, known_intervals=digest))) == {
            "levels": [],
            "multipliers": [],
        }


async def test_protobuf_over_http_has_them_on_request() -> None:
    async with served() as (service, _):
        for options, expected in (({}, None), ({"intervals": True}, TABLE)):
            content = request(**options).SerializeToString()
            headers = {"content-type": "application/protobuf"}
            response = await service.http.post("/v1/predict", content=content, headers=headers)
            assert table(vessel_pb2.VesselPredictResponse.FromString(response.content)) == expected


async def test_streams_have_them_on_request() -> None:
    async with served() as (_, stub):
        digest = (await stub.Describe(common_pb2.DescribeRequest())).intervals_digest
        for options, expected in (
            ({}, None),
            ({"intervals": True}, TABLE),
            ({"intervals": True, "known_intervals": digest}, None),
        ):
            answers = await streamed(stub, {"begin": common_pb2.StreamBegin(**options)}, *chunks(3))
            assert [table(answer) for answer in answers] == [expected] * 3
        assert [table(answer) for answer in await streamed(stub, *chunks(2))] == [None] * 2


async def test_requests_that_share_a_pass_each_get_what_they_ask_for() -> None:
    async with served() as (service, _):
        call = Call(purpose="decide", priority=Priority.INTERACTIVE)
        digest = intervals_digest(service.tenant.intervals)
        options = [
            IntervalsOption(),
            IntervalsOption(True),
            IntervalsOption(True, digest),
            IntervalsOption(True),
            IntervalsOption(),
        ]
        content = VALUES[:1].astype("<f4").tobytes()
        requests = [RowsRequest(Packed(1, content), intervals=option) for option in options]
        requests[1] = replace(requests[1], form=Packed(1, np.array([[99, 0]], "<f4").tobytes()))  # refused
        requests.insert(0, RowsRequest(Packed(1, content, "another schema"), intervals=IntervalsOption(True)))
        joint = service.tenant.pipeline.joint
        assert joint is not None
        answers = joint.answer([SmallRequest(one, call) for one in requests])
        assert service.probe.executed == [4]
        assert [isinstance(answer, Exception) for answer in answers] == [True, False, True, False, False, False]
        accepted = [answer for answer in answers if not isinstance(answer, Exception)]
        expected = [None, None, TABLE, None]
        assert [table(service.tenant.grpc.answer([answer])) for answer in accepted] == expected
        json_answers = [service.tenant.http.answer_json([answer])["power"] for answer in accepted]
        assert ["intervals" in answer for answer in json_answers] == [False, False, True, False]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("demur-python/0.1.0", TABLE),
        ("demur-python/0.1.7", TABLE),
        ("demur-python/0.2.0", None),
        ("demur-python/0.10.0", None),
        ("other/1.0 demur-python/0.1.0", None),
    ],
)
async def test_version_0_1_of_the_sdk_has_them_in_each_answer(name: str, expected: Any) -> None:
    async with served() as (service, _), agent(service, name) as stub:
        assert table(await stub.Predict(request(purpose=common_pb2.PURPOSE_DECIDE))) == expected
        assert table(await stub.Predict(request(), compression=grpc.Compression.Gzip)) == expected
        answers = await streamed(stub, {"begin": common_pb2.StreamBegin(members=True)}, *chunks(2))
        assert [table(answer) for answer in answers] == [expected] * 2
        assert all(answer.power.member_means for answer in answers)
        assert (await stub.Describe(common_pb2.DescribeRequest())).task == "tabular"


async def test_the_sdk_has_them_with_every_answer_although_only_the_description_does() -> None:
    async with served() as (service, _):
        made: list[Any] = []
        answer = service.tenant.grpc.answer

        def noted(answers: list[Any]) -> Any:
            made.append(answer(answers))
            return made[-1]

        object.__setattr__(service.tenant.grpc, "answer", noted)
        async with demur.aconnect(f"127.0.0.1:{service.server.port}") as client:
            first = await client.vessel.predict(VALUES)
            batches = [one async for one in client.vessel.stream([VALUES, VALUES])]
            np.testing.assert_allclose(first.intervals.multipliers, TABLE["multipliers"], rtol=1e-6)
            assert [batch.intervals for batch in batches] == [first.intervals] * 2
            assert first.interval(0.95)[1][0] == pytest.approx(8.25 + 2 * 0.75)
            assert [table(message) for message in made] == [None]  # a stream makes its messages elsewhere
            service.tenant.intervals["power"] = OTHER  # type: ignore[index]
            second = await client.vessel.predict(VALUES)
            np.testing.assert_allclose(second.intervals.multipliers, OTHER.multipliers, rtol=1e-6)
            assert table(made[-1]) is not None
            np.testing.assert_allclose(first.intervals.multipliers, TABLE["multipliers"], rtol=1e-6)
