"""Primitives of the asynchronous client; ``demur._threads`` has the same names for the blocking one."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, TypeAlias, TypeVar

import grpc
import grpc.aio

from demur._connection import OPTIONS, Connection, Metadata
from demur._errors import DemurError
from demur._retry import Deadline

Q = TypeVar("Q")
T = TypeVar("T")

Items: TypeAlias = Iterable[T] | AsyncIterable[T]
"""Items that a caller passes: any iterable, also an asynchronous one."""


def open_channel(connection: Connection) -> tuple[grpc.aio.Channel, Metadata]:
    """Open a channel of the running event loop; return it with the metadata of every call.

    Raises:
        ValueError: a token would travel in clear text, or a file that the environment names cannot be read.
    """
    credentials, metadata = connection.credentials()
    if credentials is None:
        return grpc.aio.insecure_channel(connection.target, OPTIONS), metadata
    return grpc.aio.secure_channel(connection.target, credentials, OPTIONS), metadata


async def each(items: Items[T]) -> AsyncGenerator[T, None]:
    """Yield the items of an iterable of either kind."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def each_read(items: Items[Q], read: Callable[[Q], T]) -> AsyncGenerator[T, None]:
    """Yield ``read(item)`` of each item, computed in a thread because it may read files."""
    async with aclosing(each(items)) as source:
        async for item in source:
            yield await asyncio.to_thread(read, item)


class Stream:
    """Open stream; frames to send wait in a queue until the channel takes them."""

    def __init__(
        self,
        method: Any,
        begin: Any,
        deadline: Deadline,
        metadata: Metadata,
        failure: Callable[[grpc.RpcError, Any, float | None], Awaitable[DemurError]],
    ) -> None:
        self._failure = failure
        self._method = method
        self._seconds = deadline.seconds
        self._frames: asyncio.Queue[Any] = asyncio.Queue()
        self._frames.put_nowait(begin)
        self._call: Any = method(self._requests(), timeout=deadline.remaining(), metadata=metadata)

    def send(self, frame: Any) -> None:
        """Queue a frame; never waits."""
        self._frames.put_nowait(frame)

    def end(self) -> None:
        """Tell the service that no more frames follow."""
        self._frames.put_nowait(None)

    async def receive(self) -> Any:
        """Return the service's next frame, or None at the end.

        Raises:
            DemurError: the stream failed.
        """
        try:
            frame = await self._call.read()
        except grpc.RpcError as failed:
            raise await self._failure(failed, self._method, self._seconds) from failed
        return None if frame is grpc.aio.EOF else frame

    def close(self) -> None:
        """Cancel what is not finished."""
        self._call.cancel()
        self._frames.put_nowait(None)

    async def _requests(self) -> AsyncIterator[Any]:
        while (frame := await self._frames.get()) is not None:
            yield frame
