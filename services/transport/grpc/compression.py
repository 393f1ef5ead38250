"""Decompression of gzip-compressed requests, within the limit of a message.

The library would decompress a message of any size before it checks the limit, so 16 kB could become 16 MB, and 16 MB
could become 16 GB. The server therefore turns that off (``OPTIONS``) and receives messages still compressed. No
protobuf message begins like gzip: the first byte would be a field of wire type 7, which does not exist.
Encodings other than gzip are refused by the library (UNIMPLEMENTED, naming the encoding).
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import grpc

from services.runtime.errors import DemurError, InvalidInput, TooLarge
from services.runtime.offload import Offload

OPTIONS = (
    ("grpc.compression_enabled_algorithms_bitset", 0b101),  # identity and gzip
    ("grpc.per_message_decompression", 0),
)
"""Options of a server whose handlers are ``Decompressing``."""
_MAGIC = b"\x1f\x8b"
_MOST_EXPANSION = 1032
"""Largest expansion of one byte by DEFLATE."""
_SMALL_BYTES = 64 << 10
"""Limit of messages that are decompressed on the event loop: those of health and reflection."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """A message that is still compressed, with the decoder of its content."""

    data: bytes
    decode: Callable[[bytes], Any]
    refuse: Callable[[DemurError], Any]
    """Makes the request that carries an error in place of the message."""

    async def opened(self, limit: int, offload: Offload) -> Any:
        """Decompress and decode; ``limit`` is the largest decompressed size, bytes."""
        try:
            nbytes = min(len(self.data) * _MOST_EXPANSION, limit)
            return self.decode(await offload.run(nbytes, decompress, self.data, limit))
        except DemurError as error:
            return self.refuse(error)


def is_compressed(data: bytes) -> bool:
    """Return whether a message is gzip."""
    return data.startswith(_MAGIC)


def decompress(data: bytes, limit: int) -> bytes:
    """Decompress a message of one gzip member; memory is bounded by ``limit`` bytes.

    Raises:
        TooLarge: it decompresses to more than ``limit`` bytes.
        InvalidInput: the member is broken or truncated, or bytes follow it.
    """
    member = zlib.decompressobj(wbits=31)
    try:
        content = member.decompress(data, limit + 1)
    except zlib.error as error:
        raise _broken(str(error)) from error
    if len(content) > limit:
        raise TooLarge(
            f"a message of {len(data)} bytes of gzip decompresses to more than {limit} bytes, the limit of one message;"
            " send less in each, or use a stream",
            code="body_too_large",
            unit="bytes",
            allowed=f"[0, {limit}]",
        )
    if not member.eof:
        raise _broken("it ends too early")
    if member.unused_data:
        raise _broken(f"{len(member.unused_data)} bytes follow its end")
    return content


def _broken(reason: str) -> InvalidInput:
    return InvalidInput(
        f"the gzip of a message is broken: {reason}; compress it again, or send it uncompressed",
        code="content_encoding",
    )


def small(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return a decoder of small messages that may be compressed; the library answers its errors with INTERNAL."""

    def decode_any(data: bytes) -> Any:
        return decode(decompress(data, _SMALL_BYTES) if is_compressed(data) else data)

    return decode_any


class Decompressing(grpc.GenericRpcHandler):
    """Handlers whose decoders may return ``Compressed``, which is decompressed before the handler gets it."""

    def __init__(self, handlers: grpc.GenericRpcHandler, limit: int, offload: Offload) -> None:
        self._handlers = handlers
        self._limit, self._offload = limit, offload

    def service(self, handler_call_details: Any) -> Any:
        handler: Any = self._handlers.service(handler_call_details)
        return None if handler is None else self._wrapped(handler)

    def _wrapped(self, handler: Any) -> Any:
        limit, offload = self._limit, self._offload
        if handler.request_streaming:
            stream = handler.stream_stream

            async def answer_stream(requests: AsyncIterator[Any], context: Any) -> None:
                await stream(_Opened(aiter(requests), limit, offload), context)

            return handler._replace(stream_stream=answer_stream)
        name = "unary_stream" if handler.response_streaming else "unary_unary"
        method = getattr(handler, name)

        async def answer(request: Any, context: Any) -> Any:
            if type(request) is Compressed:
                request = await request.opened(limit, offload)
            return await method(request, context)

        return handler._replace(**{name: answer})


class _Opened:
    """Requests of a stream, decompressed one by one as they are read."""

    def __init__(self, requests: AsyncIterator[Any], limit: int, offload: Offload) -> None:
        self._requests = requests
        self._limit, self._offload = limit, offload

    def __aiter__(self) -> _Opened:
        return self

    async def __anext__(self) -> Any:
        request = await anext(self._requests)
        return await request.opened(self._limit, self._offload) if type(request) is Compressed else request
