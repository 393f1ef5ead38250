"""Errors and rows over gRPC with the real messages: status, typed detail, bounded metadata, description, streams."""

from typing import Any

import grpc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demur.v1 import common_pb2, vessel_pb2, vessel_pb2_grpc
from services.runtime.errors import InvalidInput
from services.transport.grpc.status import detail
from tests.contract.serving import Served, serving
from tests.contract.serving import detail as seen
from tests.services.tabular import SCHEMA, TABULAR

PACKED = np.array([[2, 0.5], [3, 9]], "<f4")


def stub(served: Served) -> Any:
    return vessel_pb2_grpc.VesselServiceStub(served.channel)


def request(rows: np.ndarray = PACKED, **rest: Any) -> vessel_pb2.VesselPredictRequest:
    packed = common_pb2.PackedRows(row_count=len(rows), values=rows.tobytes(), schema_hash=SCHEMA.hash)
    return vessel_pb2.VesselPredictRequest(rows=common_pb2.Rows(packed=packed), **rest)


def named(**columns: list[float]) -> vessel_pb2.VesselPredictRequest:
    given_ = [common_pb2.NamedColumn(name=name, values=values) for name, values in columns.items()]
    return vessel_pb2.VesselPredictRequest(rows=common_pb2.Rows(named=common_pb2.NamedColumns(columns=given_)))


async def refused(message: Any) -> tuple[str, dict[str, Any]]:
    async with serving(TABULAR) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub(served).Predict(message)
        assert served.probe.executed == []
        return caught.value.code().name, seen(caught.value)


async def test_packed_and_named_rows_give_the_same_answer() -> None:
    async with serving(TABULAR) as served:
        packed = await stub(served).Predict(request())
        by_name = await stub(served).Predict(named(wave=[0.5, 9.0], speed=[2.0, 3.0]))
    assert packed.power.deferral.ids.count == by_name.power.deferral.ids.count == 2
    by_name.power.deferral.ids.first = packed.power.deferral.ids.first
    assert packed == by_name
    assert list(packed.power.deferral.decisions) == [common_pb2.DECISION_ANSWER, common_pb2.DECISION_DEFER]
    assert list(packed.power.deferral.shifts) == [0, common_pb2.SHIFT_KNOWLEDGE_ABOVE_REFERENCE]
    assert not packed.power.member_means


@pytest.mark.parametrize(
    ("message", "code", "field"),
    [
        (vessel_pb2.VesselPredictRequest(), "no_rows", "rows"),
        (request(np.array([[2, 99]], "<f4")), "out_of_range", "wave"),
        (request(purpose=9), "unknown_purpose", "purpose"),
        (request(defer_above=float("nan")), "not_finite", "defer_above"),
        (named(speed=[1.0]), "missing_column", "wave"),
    ],
)
async def test_refusals_are_invalid_arguments_with_a_typed_detail(message: Any, code: str, field: str) -> None:
    status, error = await refused(message)
    assert (status, error["code"], error["field"]) == ("INVALID_ARGUMENT", code, field)
    assert error["message"]


async def test_a_doubled_column_is_seen() -> None:
    message = named(speed=[1.0], wave=[1.0])
    message.rows.named.columns.add(name="speed", values=[2.0])
    assert (await refused(message))[1]["code"] == "doubled_column"


@pytest.mark.parametrize("name", ["n" * 100_000, "ночь°" * 20_000])
async def test_an_error_fits_into_metadata_however_long_its_words_are(name: str) -> None:
    """Callers refuse trailing metadata beyond 8 KiB, and with it the explanation."""
    status, error = await refused(named(**{name: [1.0]}))
    assert (status, error["code"]) == ("INVALID_ARGUMENT", "unknown_column")
    assert error["field"].endswith("…")
    assert len(error["message"].encode()) <= 1024


@given(st.text(max_size=3000), st.text(max_size=600))
def test_details_are_bounded_and_keep_short_text(message: str, field: str) -> None:
    content = detail(InvalidInput(message, code="c", field=field, index=3, retry_after_seconds=0.5))
    assert len(content.SerializeToString()) < 2800
    assert (content.code, content.index, content.retry_after_seconds) == ("c", 3, 0.5)
    if len(message.encode()) <= 1024:
        assert content.message == message
    else:
        assert message.startswith(content.message[:-1])


def test_broken_surrogates_do_not_break_an_error() -> None:
    assert detail(InvalidInput("\ud800")).message == "?"


async def test_purpose_wish_and_members_travel() -> None:
    async with serving(TABULAR, withhold=False) as served:
        message = request(purpose=common_pb2.PURPOSE_EXPLORE, defer_above=0.1, members=True)
        answer = await stub(served).Predict(message)
        assert list(answer.power.deferral.decisions) == [
            common_pb2.DECISION_CALLER_DEFERRED,
            common_pb2.DECISION_DEFER,
        ]
        means = np.frombuffer(answer.power.member_means, "<f4").reshape(2, 2)
        assert means.tolist() == [[8.0, 27.0], [8.5, 36.0]]
        text = (await served.http.get("/metrics")).text
        assert 'purpose="explore"' in text
    async with serving(TABULAR, withhold=True) as served:
        answer = await stub(served).Predict(message)
        assert not answer.power.member_means
        assert np.isnan(np.frombuffer(answer.power.mean, "<f4")).tolist() == [False, True]


async def test_a_service_describes_itself() -> None:
    async with serving(TABULAR) as served:
        description = await stub(served).Describe(common_pb2.DescribeRequest())
        assert (description.task, description.schema_hash, description.max_rows) == ("tabular", SCHEMA.hash, 1000)
        assert [(f.name, f.unit, f.upper, f.nullable, f.trained_upper) for f in description.features] == [
            ("speed", "m/s", 20, False, 10),
            ("wave", "m", 15, True, 10),
        ]
        (policy,) = description.policies
        assert (policy.threshold, policy.mode, policy.measure) == (2.0, "target_retention", "tvar")
        answer = await stub(served).Predict(request())
        assert answer.power.deferral.policy == policy.version


@pytest.mark.parametrize(
    "method", ["VesselService/Predict", "VesselService/Describe", "PolicyService/Show", "LabelService/Claim"]
)
async def test_bytes_that_are_no_message_are_the_callers(method: str) -> None:
    async with serving(TABULAR) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.channel.unary_unary(f"/demur.v1.{method}")(b"\xff")
    assert caught.value.code().name == "INVALID_ARGUMENT"
    assert seen(caught.value)["code"] == "not_a_message"


async def test_a_stream_of_real_messages() -> None:
    def frames() -> Any:
        yield vessel_pb2.VesselStreamRequest(begin=common_pb2.StreamBegin(defer_above=0.1, members=True))
        messages = (request(), vessel_pb2.VesselPredictRequest(), named(speed=[99.0], wave=[1]))
        for sequence, message in enumerate(messages):
            yield vessel_pb2.VesselStreamRequest(chunk=vessel_pb2.VesselChunk(sequence=sequence, rows=message.rows))

    async with serving(TABULAR) as served:
        accepted, result, empty, wrong, progress = [frame async for frame in stub(served).PredictStream(frames())]
    assert (accepted.accepted.window_chunks, accepted.accepted.quantum_rows) == (4, 64)
    assert accepted.accepted.policy == result.result.answer.power.deferral.policy
    assert result.result.answer.power.member_means
    assert list(result.result.answer.power.deferral.decisions) == [3, 2]
    assert (empty.error.sequence, empty.error.error.code) == (1, "no_rows")
    assert (wrong.error.sequence, wrong.error.error.code, wrong.error.error.unit) == (2, "out_of_range", "m/s")
    assert (progress.progress.chunks_done, progress.progress.units_done) == (3, 2)


async def test_an_empty_frame_ends_the_stream() -> None:
    async with serving(TABULAR) as served:
        call = stub(served).PredictStream(iter([vessel_pb2.VesselStreamRequest()]))
        await call.read()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert seen(caught.value)["code"] == "empty_frame"
