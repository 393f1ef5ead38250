"""A gRPC server with the interface of ``grpc.aio`` that breaks each part of the contract of transports."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import grpc

_SERVICE = "transports.Echo"


class _Server:
    """Ignores limits, certificates, and all services but one, whose handlers it replaces by wrong ones."""

    def __init__(self) -> None:
        self._server = grpc.aio.server(options=(("grpc.compression_enabled_algorithms_bitset", 1),))
        self.start = self._server.start
        self.add_insecure_port = self._server.add_insecure_port

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        if service == _SERVICE:
            self._server.add_registered_method_handlers(service, dict(handlers) | _wrong(handlers))

    def add_generic_rpc_handlers(self, handlers: Any) -> None: ...

    def add_secure_port(self, address: str, credentials: Any) -> int:
        return self.add_insecure_port(address)

    async def stop(self, grace: float) -> None:
        await self._server.stop(None)


def server(options: Iterable[tuple[str, int]]) -> Any:
    return _Server()


def _wrong(handlers: Mapping[str, Any]) -> dict[str, Any]:
    right_wait = handlers["Wait"].unary_unary

    async def cut(request: bytes, context: Any) -> bytes:
        return request[:1000]

    async def once(request: bytes, context: Any) -> None:
        await context.write(request)

    async def late(requests: Any, context: Any) -> None:
        for request in [request async for request in requests]:
            await context.write(request)

    async def fail(request: bytes, context: Any) -> None:
        await context.abort(grpc.StatusCode.UNKNOWN, "")

    async def deaf(request: bytes, context: Any) -> bytes:
        return await asyncio.shield(right_wait(request, context))

    return {
        "Echo": grpc.unary_unary_rpc_method_handler(cut),
        "Fail": grpc.unary_unary_rpc_method_handler(fail),
        "Wait": grpc.unary_unary_rpc_method_handler(deaf),
        "Repeat": grpc.unary_stream_rpc_method_handler(once),
        "Talk": grpc.stream_stream_rpc_method_handler(late),
    }
