"""Echo over the interface of ``grpc.aio``, by grpcio or by another library that offers it (``--library``)."""

import asyncio
import importlib
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import echo
import grpc
import uvloop
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

GRACE_SECONDS = 5.0


def handlers(state: echo.Echo) -> dict[str, grpc.RpcMethodHandler]:
    """Return the handlers of the service by method."""

    async def repeat(request: bytes, context: Any) -> bytes:
        metadata = [(key, value) for key, value in context.invocation_metadata() if key in (echo.TEXT, echo.BYTES)]
        if metadata:
            await context.send_initial_metadata(metadata)
            context.set_trailing_metadata(metadata)
        return request

    async def copies(request: bytes, context: Any) -> None:
        for _ in range(echo.COPIES):
            await context.write(request)

    async def talk(requests: Any, context: Any) -> None:
        async for request in requests:
            await context.write(request)

    async def fail(request: bytes, context: Any) -> None:
        await context.abort(grpc.StatusCode[echo.CODE], echo.MESSAGE, (echo.DETAIL,))

    async def wait(request: bytes, context: Any) -> bytes:
        return await state.wait(request)

    async def tell(request: bytes, context: Any) -> bytes:
        return state.state()

    async def peer(request: bytes, context: Any) -> bytes:
        return context.peer().encode()

    unary = {"Echo": repeat, "Fail": fail, "Wait": wait, "State": tell, "Peer": peer}
    return {name: grpc.unary_unary_rpc_method_handler(method) for name, method in unary.items()} | {
        "Repeat": grpc.unary_stream_rpc_method_handler(copies),
        "Talk": grpc.stream_stream_rpc_method_handler(talk),
    }


def channel_options(options: Any) -> Iterable[tuple[str, int]]:
    """Yield the options of the server that were asked for."""
    yield "grpc.so_reuseport", 0
    yield "grpc.http.overload_protection", 0  # as in Demur: it refuses the next call of a caller who was just answered
    if options.most_message_bytes is not None:
        yield "grpc.max_receive_message_length", options.most_message_bytes
    if options.most_streams is not None:
        yield "grpc.max_concurrent_streams", options.most_streams
    if options.most_age_seconds is not None:
        yield "grpc.max_connection_age_ms", int(options.most_age_seconds * 1000)


def credentials(certificate: Path, key: Path) -> grpc.ServerCredentials:
    """Return credentials that are read again before a handshake if their files changed."""
    known = [0, 0]

    def configuration() -> Any:
        return grpc.ssl_server_certificate_configuration([(key.read_bytes(), certificate.read_bytes())])

    def fetch() -> Any:
        now = [path.stat().st_mtime_ns for path in (certificate, key)]
        if now == known:
            return None
        known[:] = now
        return configuration()

    return grpc.dynamic_ssl_server_credentials(configuration(), fetch)


async def serve(options: Any) -> None:
    """Serve until SIGTERM; calls in flight may end then."""
    address = f"127.0.0.1:{options.port}"
    try:
        server = importlib.import_module(options.library).server(options=list(channel_options(options)))
    except NotImplementedError as error:
        echo.not_offered(str(error))
    server.add_registered_method_handlers(echo.SERVICE, handlers(echo.Echo()))
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    reflection.enable_server_reflection((echo.SERVICE, health.SERVICE_NAME), server)
    try:
        if options.certificate is None:
            server.add_insecure_port(address)
        else:
            server.add_secure_port(address, credentials(options.certificate, options.key))
    except NotImplementedError as error:
        echo.not_offered(str(error))
    await server.start()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await server.stop(GRACE_SECONDS)


if __name__ == "__main__":
    uvloop.run(serve(echo.options()))
