"""Echo over grpclib, which is HTTP/2 in Python (h2) on asyncio."""

import asyncio
import ssl
from typing import Any

import echo
import uvloop
from grpclib.const import Cardinality, Handler, Status
from grpclib.encoding.base import CodecBase
from grpclib.health.service import Health
from grpclib.reflection.service import ServerReflection
from grpclib.server import Server
from grpclib.utils import graceful_exit


class AnyCodec(CodecBase):
    """Bytes of our service as they are, and messages of the library's own services."""

    __content_subtype__ = "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:
        return message if message_type is bytes else message.SerializeToString()

    def decode(self, data: bytes, message_type: Any) -> Any:
        return data if message_type is bytes else message_type.FromString(data)


class Service:
    """Handlers of the service."""

    def __init__(self) -> None:
        self._state = echo.Echo()

    async def repeat(self, stream: Any) -> None:
        request = await stream.recv_message()
        metadata = [(key, stream.metadata[key]) for key in (echo.TEXT, echo.BYTES) if key in stream.metadata]
        if metadata:
            await stream.send_initial_metadata(metadata=metadata)
        await stream.send_message(request)
        if metadata:
            await stream.send_trailing_metadata(metadata=metadata)

    async def copies(self, stream: Any) -> None:
        request = await stream.recv_message()
        for _ in range(echo.COPIES):
            await stream.send_message(request)

    async def talk(self, stream: Any) -> None:
        async for request in stream:
            await stream.send_message(request)

    async def fail(self, stream: Any) -> None:
        await stream.recv_message()
        status = Status[echo.CODE]
        await stream.send_trailing_metadata(status=status, status_message=echo.MESSAGE, metadata=[echo.DETAIL])

    async def wait(self, stream: Any) -> None:
        await stream.send_message(await self._state.wait(await stream.recv_message()))

    async def tell(self, stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(self._state.state())

    async def peer(self, stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(repr(stream.peer.addr()).encode())

    def __mapping__(self) -> dict[str, Handler]:
        unary = {"Echo": self.repeat, "Fail": self.fail, "Wait": self.wait, "State": self.tell, "Peer": self.peer}
        methods = {name: (method, Cardinality.UNARY_UNARY) for name, method in unary.items()} | {
            "Repeat": (self.copies, Cardinality.UNARY_STREAM),
            "Talk": (self.talk, Cardinality.STREAM_STREAM),
        }
        return {f"/{echo.SERVICE}/{name}": Handler(*method, bytes, bytes) for name, method in methods.items()}


async def serve(options: Any) -> None:
    """Serve until SIGTERM; the library offers ``graceful_exit`` for it."""
    for name in ("most_message_bytes", "most_streams", "most_age_seconds"):
        if getattr(options, name) is not None:
            echo.not_offered(name.replace("_", " "))
    services = [Service(), Health()]
    server = Server(ServerReflection.extend(services), codec=AnyCodec())
    context = None
    watching = None
    if options.certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.set_alpn_protocols(["h2"])
        paths = [options.certificate, options.key]
        context.load_cert_chain(*paths)
        watching = asyncio.ensure_future(echo.changes(paths, lambda: context.load_cert_chain(*paths)))
    with graceful_exit([server]):
        await server.start("127.0.0.1", options.port, ssl=context)
        await server.wait_closed()
    if watching is not None:
        watching.cancel()


if __name__ == "__main__":
    uvloop.run(serve(echo.options()))
