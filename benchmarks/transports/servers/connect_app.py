"""Echo as an ASGI application of connectrpc, whose trailers need a server with HTTP/2 trailers.

Messages stay bytes. Options come in the environment: the server around the application has its own.
"""

import base64
import os
from collections.abc import AsyncIterator
from typing import Any

import echo
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.server import ConnectASGIApplication, Endpoint
from connectrpc_grpcreflect import (
    ServerReflectionAlphaASGIApplication,
    ServerReflectionAlphaService,
    ServerReflectionASGIApplication,
    ServerReflectionService,
)
from protobuf import DescFile
from protobuf._codegen import file_desc
from protobuf.wkt.google.protobuf.descriptor_pb import (
    DescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

MOST_MESSAGE = "ECHO_MOST_MESSAGE_BYTES"
"""Variable with the largest message, bytes."""


def description() -> DescFile:
    """Return the descriptor of the service with its method ``Echo``, which reflection shows."""
    name = ".transports.Bytes"
    method = MethodDescriptorProto(name="Echo", input_type=name, output_type=name)
    file = FileDescriptorProto(
        name="transports.proto",
        package="transports",
        syntax="proto3",
        message_type=[DescriptorProto(name="Bytes")],
        service=[ServiceDescriptorProto(name="Echo", method=[method])],
    )
    return file_desc(file.to_binary(), [], {})


class BytesCodec:
    """Codec that leaves messages as they are."""

    def name(self) -> str:
        return "proto"

    def encode(self, message: bytes) -> bytes:
        return message

    def decode(self, data: bytes | bytearray, message_class: Any) -> bytes:
        return bytes(data)


class Service:
    """Handlers of the service."""

    def __init__(self) -> None:
        self._state = echo.Echo()

    async def repeat(self, request: bytes, context: Any) -> bytes:
        for key in (echo.TEXT, echo.BYTES):
            if (value := context.request_headers.get(key)) is not None:
                context.response_headers[key] = value
                context.response_trailers[key] = value
        return request

    async def copies(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        for _ in range(echo.COPIES):
            yield request

    async def talk(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for request in requests:
            yield request

    async def fail(self, request: bytes, context: Any) -> bytes:
        key, value = echo.DETAIL
        context.response_trailers[key] = _base64(value)
        raise ConnectError(Code[echo.CODE], echo.MESSAGE)

    async def wait(self, request: bytes, context: Any) -> bytes:
        return await self._state.wait(request)

    async def tell(self, request: bytes, context: Any) -> bytes:
        return self._state.state()

    async def peer(self, request: bytes, context: Any) -> bytes:
        return str(context.client_address).encode()


class EchoApplication(ConnectASGIApplication[Service]):
    """The service as generated code would declare it."""

    @property
    def path(self) -> str:
        return f"/{echo.SERVICE}"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode().rstrip("=")


def _endpoints(service: Service) -> dict[str, Any]:
    unary = {"Echo": service.repeat, "Fail": service.fail, "Wait": service.wait}
    unary |= {"State": service.tell, "Peer": service.peer}
    kinds = {name: (StreamType.UNARY, Endpoint.unary, method) for name, method in unary.items()} | {
        "Repeat": (StreamType.SERVER_STREAM, Endpoint.server_stream, service.copies),
        "Talk": (StreamType.BIDI_STREAM, Endpoint.bidi_stream, service.talk),
    }
    return {
        f"/{echo.SERVICE}/{name}": endpoint(
            method=MethodInfo(
                name=name,
                service_name=echo.SERVICE,
                input=bytes,
                output=bytes,
                idempotency_level=IdempotencyLevel.UNKNOWN,
                stream_type=kind,
            ),
            function=method,
        )
        for name, (kind, endpoint, method) in kinds.items()
    }


_most = os.environ.get(MOST_MESSAGE)
_echo = EchoApplication(
    service=Service(),
    endpoints=_endpoints,
    codecs=[BytesCodec()],
    **({} if _most is None else {"read_max_bytes": int(_most)}),
)
_reflections = (
    ServerReflectionASGIApplication(ServerReflectionService(description())),
    ServerReflectionAlphaASGIApplication(ServerReflectionAlphaService(description())),
)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Pass a call to the service, or to reflection."""
    path = scope["path"] if scope["type"] == "http" else ""
    chosen = next((each for each in _reflections if path.startswith(each.path)), _echo)
    await chosen(scope, receive, send)
