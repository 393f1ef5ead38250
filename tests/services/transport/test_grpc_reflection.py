"""Reflection, versions v1 and v1alpha: a client of each reads every schema from the server alone."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha import reflection_pb2

from tests.contract.serving import serving
from tests.services.tabular import TABULAR

VERSIONS = ("grpc.reflection.v1", "grpc.reflection.v1alpha")


async def asked(channel: grpc.aio.Channel, version: str, *questions: dict[str, str]) -> list[Any]:
    """Answers to the questions of one stream."""

    async def requests() -> AsyncIterator[Any]:
        for question in questions:
            yield reflection_pb2.ServerReflectionRequest(**question)

    call = channel.stream_stream(
        f"/{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    return [answer async for answer in call(requests(), timeout=60)]


def pool(files: Iterable[bytes]) -> descriptor_pool.DescriptorPool:
    """What a client knows of the files that it was sent, in whatever order."""
    descriptors = descriptor_pool.DescriptorPool()
    left = {proto.name: proto for proto in map(descriptor_pb2.FileDescriptorProto.FromString, files)}

    def add(name: str) -> None:
        if (proto := left.pop(name, None)) is not None:
            for dependency in proto.dependency:
                add(dependency)
            descriptors.Add(proto)

    for name in list(left):
        add(name)
    return descriptors


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_client_calls_a_method_that_it_knows_from_the_server_only(version: str) -> None:
    async with serving(TABULAR) as served:
        (answer,) = await asked(served.channel, version, {"file_containing_symbol": "demur.v1.VesselService"})
        known = pool(answer.file_descriptor_response.file_descriptor_proto)
        method = known.FindServiceByName("demur.v1.VesselService").methods_by_name["Predict"]
        request, response = (message_factory.GetMessageClass(kind) for kind in (method.input_type, method.output_type))
        columns = [{"name": "speed", "values": [2.0]}, {"name": "wave", "values": [0.5]}]
        call = served.channel.unary_unary("/demur.v1.VesselService/Predict")
        content = json_format.ParseDict({"rows": {"named": {"columns": columns}}}, request()).SerializeToString()
        predicted: Any = response.FromString(await call(content))
    assert predicted.power.deferral.ids.count == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_listed_service_is_described(version: str) -> None:
    """Its own two versions as well: a tool that describes all services ends at the first that it cannot."""
    async with serving(TABULAR) as served:
        (listed,) = await asked(served.channel, version, {"list_services": ""})
        names = [service.name for service in listed.list_services_response.service]
        answers = await asked(served.channel, version, *({"file_containing_symbol": name} for name in names))
    assert {f"{package}.ServerReflection" for package in VERSIONS} < set(names)
    for name, answer in zip(names, answers, strict=True):
        assert pool(answer.file_descriptor_response.file_descriptor_proto).FindServiceByName(name).methods, name


async def test_the_two_versions_differ_in_their_names_only() -> None:
    async with serving(TABULAR) as served:
        files = []
        for version in VERSIONS:
            (answer,) = await asked(served.channel, version, {"file_containing_symbol": f"{version}.ServerReflection"})
            (content,) = answer.file_descriptor_response.file_descriptor_proto
            files.append(descriptor_pb2.FileDescriptorProto.FromString(content))
    texts = [str(file.message_type) + str(file.service) for file in files]
    assert texts[0] == texts[1].replace("v1alpha", "v1")


async def test_an_unknown_name_is_not_found() -> None:
    async with serving(TABULAR) as served:
        (answer,) = await asked(served.channel, VERSIONS[0], {"file_containing_symbol": "demur.v1.NoService"})
    assert answer.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]
