"""Request messages as bytes from the wire: decompression within a limit, decoding, and their size.

The library would decompress a message of any size before it checks the limit, so 16 kB could become 16 MB, and 16 MB
could become 16 GB. The server therefore turns that off (``OPTIONS``) and receives messages still compressed. No
protobuf message begins like gzip: the first byte would be a field of wire type 7, which does not exist.
Encodings other than gzip are refused by the library (UNIMPLEMENTED, naming the encoding).
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from services.runtime.errors import DemurError, InvalidInput, TooLarge
from services.runtime.offload import Offload

OPTIONS = (
    ("grpc.compression_enabled_algorithms_bitset", 0b101),  # identity and gzip
    ("grpc.per_message_decompression", 0),
)
"""Options of a server whose requests are decoded by ``decoder``."""
_MAGIC = b"\x1f\x8b"
_MOST_EXPANSION = 1032
"""Largest expansion of one byte by DEFLATE."""
_SMALL_BYTES = 64 << 10
"""Limit of messages that are decompressed on the event loop: those of health and reflection."""
_SPEED = 4
"""Packed numbers are checked at least this many times as fast as the same number of bytes of text is parsed."""


class Received(NamedTuple):
    """A decoded request message, or the error that refuses its bytes."""

    content: Any
    text_bytes: int
    """Size of a text that takes as long to process."""

    def checked(self) -> Any:
        """Return the message.

        Raises:
            InvalidInput: the bytes were not a message.
            TooLarge: the message exceeds the limit once decompressed.
        """
        if isinstance(self.content, DemurError):
            raise self.content
        return self.content


@dataclass(frozen=True, slots=True)
class Compressed:
    """A request message that is still compressed, with the decoder of its content."""

    data: bytes
    decode: Callable[[bytes], Received]

    async def opened(self, limit: int, offload: Offload) -> Received:
        """Decompress and decode; ``limit`` is the largest decompressed size, bytes."""
        try:
            nbytes = min(len(self.data) * _MOST_EXPANSION, limit)
            return self.decode(await offload.run(nbytes, decompress, self.data, limit))
        except DemurError as error:
            return Received(error, 0)


def decoder(decode: Callable[[bytes], Any]) -> Callable[[bytes], Received | Compressed]:
    """Return a decoder that turns undecodable bytes into a typed error, not an INTERNAL error of the library."""

    def receive(data: bytes) -> Received | Compressed:
        return Compressed(data, plain) if data.startswith(_MAGIC) else plain(data)

    def plain(data: bytes) -> Received:
        try:
            return Received(decode(data), len(data) // _SPEED)
        except Exception:
            error = InvalidInput(
                "the bytes of this call are not the request message of the method; regenerate the stubs, and compress"
                " with gzip or not at all",
                code="not_a_message",
            )
            return Received(error, 0)

    return receive


def small(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return a decoder of small messages that may be compressed; the library answers its errors with INTERNAL."""

    def decode_any(data: bytes) -> Any:
        return decode(decompress(data, _SMALL_BYTES) if data.startswith(_MAGIC) else data)

    return decode_any


class Opened:
    """Requests of a stream, decompressed one by one as they are read."""

    def __init__(self, requests: AsyncIterator[Any], limit: int, offload: Offload) -> None:
        self._requests = requests
        self._limit, self._offload = limit, offload

    def __aiter__(self) -> Opened:
        return self

    async def __anext__(self) -> Received:
        request = await anext(self._requests)
        opened: Received = await request.opened(self._limit, self._offload) if type(request) is Compressed else request
        return opened


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
