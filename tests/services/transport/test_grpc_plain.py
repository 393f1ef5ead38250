"""Answers with numbers as repeated fields: the same numbers as the packed ones, for all tasks and on streams."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from demur.v1 import common_pb2, labels_pb2, lesion_pb2, motion_pb2, translation_pb2, vessel_pb2, weather_pb2
from services.transport.grpc.plain import PREFIX, plain
from tests.contract.serving import Served, serving
from tests.services.tabular import TABULAR

RESPONSES = (
    labels_pb2.SubmitLabelsResponse,
    lesion_pb2.LesionPredictResponse,
    lesion_pb2.LesionStreamResponse,
    motion_pb2.MotionPredictResponse,
    motion_pb2.MotionStreamResponse,
    translation_pb2.TranslationPredictResponse,
    translation_pb2.TranslationStreamResponse,
    vessel_pb2.VesselPredictResponse,
    vessel_pb2.VesselStreamResponse,
    weather_pb2.WeatherPredictResponse,
    weather_pb2.WeatherStreamResponse,
)
FILES = {"LesionFile.content", "LesionResultPiece.content", "MotionPredictResponse.submission"}
KINDS = {FieldDescriptor.TYPE_FLOAT: "<f4", FieldDescriptor.TYPE_DOUBLE: "<f8", FieldDescriptor.TYPE_UINT32: "<u4"}
ROWS = np.array([[2, 0.5], [3, 9]], "<f4")


def within(descriptor: Descriptor, seen: set[str]) -> Iterator[Descriptor]:
    """A message, and all that it may hold."""
    if descriptor.full_name not in seen:
        seen.add(descriptor.full_name)
        yield descriptor
        for field in descriptor.fields:
            if field.message_type is not None:
                yield from within(field.message_type, seen)


def packed_fields() -> Iterator[tuple[Descriptor, FieldDescriptor]]:
    seen: set[str] = set()
    for response in RESPONSES:
        for descriptor in within(response.DESCRIPTOR, seen):
            for field in descriptor.fields:
                if field.type == FieldDescriptor.TYPE_BYTES:
                    yield descriptor, field


def test_whatever_is_packed_in_an_answer_has_a_twin() -> None:
    """A new field of packed numbers needs its ``plain_`` field; files stay bytes."""
    bare = {
        f"{descriptor.name}.{field.name}"
        for descriptor, field in packed_fields()
        if f"{PREFIX}{field.name}" not in descriptor.fields_by_name
    }
    assert bare == FILES


@pytest.mark.parametrize(
    "kind",
    [
        common_pb2.GaussianHead,
        common_pb2.CategoricalHead,
        motion_pb2.MotionAnswer,
        translation_pb2.TranslationHypothesis,
        translation_pb2.TranslationTokens,
    ],
)
def test_each_twin_has_the_numbers_of_the_packed_field(kind: Any) -> None:
    generator, message, expected = np.random.default_rng(5), kind(), {}
    for field in kind.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_BYTES:
            twin = kind.DESCRIPTOR.fields_by_name[f"{PREFIX}{field.name}"]
            expected[twin.name] = generator.integers(0, 1000, 7).astype(KINDS[twin.type])
            setattr(message, field.name, expected[twin.name].tobytes())
    assert len(expected) >= 1
    plain(message)
    for name, values in expected.items():
        np.testing.assert_array_equal(getattr(message, name), values)
        assert getattr(message, name.removeprefix(PREFIX)) == b""


def test_bits_are_told_one_by_one_also_those_without_a_name() -> None:
    message = plain(common_pb2.Deferral(shifts=bytes([0, 1, 3, 2, 64]), decisions=bytes([1, 2, 3, 1, 1])))
    assert [list(row.shifts) for row in message.plain_shifts] == [[0], [1], [1, 2], [2], [64]]
    assert json_format.MessageToDict(message)["plainDecisions"][:3] == [
        "DECISION_ANSWER",
        "DECISION_DEFER",
        "DECISION_CALLER_DEFERRED",
    ]


def request(**more: Any) -> Any:
    rows = common_pb2.Rows(packed=common_pb2.PackedRows(row_count=len(ROWS), values=ROWS.tobytes()))
    return vessel_pb2.VesselPredictRequest(rows=rows, members=True, **more)


def method(served: Served) -> Any:
    return served.channel.unary_unary(
        "/demur.v1.VesselService/Predict",
        request_serializer=vessel_pb2.VesselPredictRequest.SerializeToString,
        response_deserializer=vessel_pb2.VesselPredictResponse.FromString,
    )


def same(answer: Any, packed: Any) -> None:
    """The plain answer says what the packed one does, but for identities."""
    for name in ("mean", "total", "data", "knowledge", "member_means", "member_variances"):
        expected = np.frombuffer(getattr(packed.power, name), "<f4")
        assert len(expected) >= len(ROWS)
        np.testing.assert_array_equal(getattr(answer.power, f"{PREFIX}{name}"), expected)
        assert not getattr(answer.power, name)
    deferral = answer.power.deferral
    np.testing.assert_array_equal(deferral.plain_uncertainty, np.frombuffer(packed.power.deferral.uncertainty, "<f4"))
    assert list(deferral.plain_decisions) == list(packed.power.deferral.decisions)
    assert not deferral.uncertainty + deferral.decisions + deferral.shifts
    ids = deferral.ids
    assert list(deferral.plain_ids) == [f"{ids.epoch:016x}-{ids.first + place}" for place in range(len(ROWS))]


async def test_a_plain_answer_has_the_numbers_of_the_packed_one() -> None:
    async with serving(TABULAR) as served:
        packed, answer = await method(served)(request()), await method(served)(request(plain=True))
        response = await served.http.post(
            "/v1/predict",
            content=request(plain=True).SerializeToString(),
            headers={"content-type": "application/protobuf"},
        )
    assert not any(
        field.name.startswith(PREFIX)
        for message in (packed.power, packed.power.deferral)
        for field, _ in message.ListFields()
    )
    same(answer, packed)
    same(vessel_pb2.VesselPredictResponse.FromString(response.content), packed)


async def test_a_stream_that_says_plain_has_plain_chunks() -> None:
    def frames(begin: Any) -> Iterator[Any]:
        yield vessel_pb2.VesselStreamRequest(begin=begin)
        for place in range(3):
            yield vessel_pb2.VesselStreamRequest(chunk=vessel_pb2.VesselChunk(sequence=place, rows=request().rows))

    async with serving(TABULAR) as served:
        call = served.channel.stream_stream(
            "/demur.v1.VesselService/PredictStream",
            request_serializer=vessel_pb2.VesselStreamRequest.SerializeToString,
            response_deserializer=vessel_pb2.VesselStreamResponse.FromString,
        )
        results = [
            [frame.result.answer async for frame in call(frames(begin)) if frame.HasField("result")]
            for begin in (common_pb2.StreamBegin(members=True), common_pb2.StreamBegin(members=True, plain=True))
        ]
    assert [len(answers) for answers in results] == [3, 3]
    for packed, answer in zip(*results, strict=True):
        same(answer, packed)
