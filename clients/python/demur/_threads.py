"""Primitives of the blocking client; ``demur._event_loop`` has the same names for the asynchronous one."""

from collections.abc import Callable, Generator, Iterable
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

import grpc

from demur._connection import OPTIONS, Connection, Metadata
from demur._errors import DemurError
from demur._retry import Deadline

Q = TypeVar("Q")
T = TypeVar("T")

Items: TypeAlias = Iterable[T]
"""Items that a caller passes."""


def open_channel(connection: Connection) -> tuple[grpc.Channel, Metadata]:
    """Open a blocking channel; return it with the metadata of every call.

    Raises:
        ValueError: a token would travel in clear text, or a file that the environment names cannot be read.
    """
    credentials, metadata = connection.credentials()
    if credentials is None:
        return grpc.insecure_channel(connection.target, OPTIONS), metadata
    return grpc.secure_channel(connection.target, credentials, OPTIONS), metadata


def each(items: Items[T]) -> Generator[T, None, None]:
    """Yield the items of an iterable; unlike ``yield from``, closing this generator leaves that of the caller open."""
    for item in items:  # noqa: UP028
        yield item


def each_read(items: Items[Q], read: Callable[[Q], T]) -> Generator[T, None, None]:
    """Yield ``read(item)`` of each item, in the caller's thread."""
    for item in items:
        yield read(item)


class Stream:
    """Open stream; frames to send wait in a queue until the channel takes them."""

    def __init__(
        self,
        method: Any,
        begin: Any,
        deadline: Deadline,
        metadata: Metadata,
        failure: Callable[[grpc.RpcError, Any, float | None], DemurError],
    ) -> None:
        self._failure = failure
        self._method = method
        self._seconds = deadline.seconds
        self._frames: SimpleQueue[Any] = SimpleQueue()
        self._frames.put(begin)
        self._call: Any = method(iter(self._frames.get, None), timeout=deadline.remaining(), metadata=metadata)

    def send(self, frame: Any) -> None:
        """Queue a frame; never waits."""
        self._frames.put(frame)

    def end(self) -> None:
        """Tell the service that no more frames follow."""
        self._frames.put(None)

    def receive(self) -> Any:
        """Return the service's next frame, or None at the end.

        Raises:
            DemurError: the stream failed.
        """
        try:
            return next(self._call, None)
        except grpc.RpcError as failed:
            raise self._failure(failed, self._method, self._seconds) from failed

    def close(self) -> None:
        """Cancel what is not finished."""
        self._call.cancel()
        self._frames.put(None)
