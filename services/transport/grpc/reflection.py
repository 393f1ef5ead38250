"""Server reflection, ``grpc.reflection.v1`` and ``v1alpha``: schemas of a server's services, for tools such as grpcurl.

The library has v1alpha only. Both versions have the same messages but for the name of the package, so one servicer
answers for both; the descriptor of v1 is that of v1alpha under the new name, in a pool of its own.
"""

from collections.abc import Callable, Iterable
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool
from grpc_reflection.v1alpha import reflection as v1alpha
from grpc_reflection.v1alpha import reflection_pb2

from services.transport.grpc.raw_request import small

V1ALPHA: str = v1alpha.SERVICE_NAME
V1 = V1ALPHA.replace(".v1alpha.", ".v1.")
SERVICES = (V1, V1ALPHA)
_METHOD = "ServerReflectionInfo"


def handlers(services: Iterable[str]) -> tuple[grpc.GenericRpcHandler, ...]:
    """Return handlers of both versions for a ``grpc.aio`` server.

    Args:
        services: full names of the other services of the server, whose descriptors are in the default pool.
    """
    servicer = v1alpha.aio.ReflectionServicer((*services, *SERVICES), pool=_Pools())
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=small(reflection_pb2.ServerReflectionRequest.FromString),
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    return tuple(grpc.method_handlers_generic_handler(service, {_METHOD: handler}) for service in SERVICES)


class _Pools:
    """The default descriptor pool, with the descriptor of v1 as a fallback."""

    def __init__(self) -> None:
        v1 = descriptor_pool.DescriptorPool()
        v1.Add(_renamed(reflection_pb2.DESCRIPTOR))
        self._pools = (descriptor_pool.Default(), v1)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a ``Find…`` method of ``DescriptorPool``, which raises ``KeyError`` if neither pool knows the name."""

        def find(*arguments: Any) -> Any:
            first, second = (getattr(pool, name) for pool in self._pools)
            try:
                return first(*arguments)
            except KeyError:
                return second(*arguments)

        return find


def _renamed(file: Any) -> Any:
    """Return the descriptor of v1alpha as that of v1, under the path that other implementations use."""
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    old, proto.name, proto.package = f".{proto.package}.", "grpc/reflection/v1/reflection.proto", V1.rpartition(".")[0]
    new = f".{proto.package}."
    for message in proto.message_type:
        for field in message.field:
            if field.HasField("type_name"):
                field.type_name = field.type_name.replace(old, new)
    for service in proto.service:
        for method in service.method:
            method.input_type = method.input_type.replace(old, new)
            method.output_type = method.output_type.replace(old, new)
    return proto
