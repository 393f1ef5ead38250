"""The thin layer that waits: calls with retries, and open streams; once for threads, once for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import grpc
import grpc.aio

from demur._channel import HEALTH_METHOD, POLL_SECONDS, Metadata, is_serving, may_become_ready
from demur._errors import Unavailable, from_call
from demur._retry import Deadline, Patience, Retry

T = TypeVar("T")


class Calls:
    """Calls over one channel, blocking; for any number of threads."""

    def __init__(self, channel: grpc.Channel, metadata: Metadata, timeout: float | None, retry: Retry) -> None:
        self.channel = channel
        self._closed = False
        self._metadata = metadata
        self._timeout = timeout
        self._patience = Patience(retry)
        self._health: Any = channel.unary_unary(HEALTH_METHOD)

    def deadline(self, timeout: float | None) -> Deadline:
        """From now; None means the client's own timeout."""
        return Deadline(self._timeout if timeout is None else timeout)

    def unary(self, method: Any, request: Any, deadline: Deadline) -> Any:
        """The response to a request.

        Raises:
            DemurError: the call failed, after such retries as the policy allows.
        """

        def once() -> Any:
            try:
                return method(request, timeout=deadline.remaining(), metadata=self._metadata)
            except grpc.RpcError as failed:
                raise from_call(failed, deadline.seconds) from failed

        return self._patiently(once, deadline)

    def stream(self, method: Any, begin: Any, deadline: Deadline) -> tuple[Stream, Any]:
        """An open stream and the service's first frame; opening is retried, what follows is not."""

        def once() -> tuple[Stream, Any]:
            stream = Stream(method, begin, deadline, self._metadata)
            try:
                return stream, stream.receive()
            except BaseException:
                stream.close()
                raise

        return self._patiently(once, deadline)

    def watch(self, method: Any, request: Any, timeout: float | None) -> Any:
        """The frames that the service sends for one request, as an iterator that can be cancelled; never retried."""
        _check_open(self._closed)
        return method(request, timeout=timeout, metadata=self._metadata)

    def close(self) -> None:
        """Close the channel, cancelling calls that are not finished."""
        self._closed = True
        self.channel.close()

    def ready(self, timeout: float) -> bool:
        """Whether the service says within this time that it is serving."""
        _check_open(self._closed)
        deadline = Deadline(timeout)
        while True:
            try:
                reply = self._health(b"", timeout=deadline.remaining(), metadata=self._metadata)
            except grpc.RpcError as failed:
                if not may_become_ready(failed):
                    raise from_call(failed) from failed
            else:
                if is_serving(reply):
                    return True
            if not deadline.outlasts(POLL_SECONDS):
                return False
            time.sleep(POLL_SECONDS)

    def _patiently(self, once: Callable[[], T], deadline: Deadline) -> T:
        _check_open(self._closed)
        failures = 0
        while True:
            try:
                result = once()
            except Unavailable as error:
                failures += 1
                pause = self._patience.pause(error, failures, deadline)
                if pause is None:
                    raise
            else:
                self._patience.succeeded()
                return result
            time.sleep(pause)


class AsyncCalls:
    """Calls over one channel of the running event loop."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Metadata, timeout: float | None, retry: Retry) -> None:
        self.channel = channel
        self._closed = False
        self._metadata = metadata
        self._timeout = timeout
        self._patience = Patience(retry)
        self._health: Any = channel.unary_unary(HEALTH_METHOD)

    def deadline(self, timeout: float | None) -> Deadline:
        """From now; None means the client's own timeout."""
        return Deadline(self._timeout if timeout is None else timeout)

    async def unary(self, method: Any, request: Any, deadline: Deadline) -> Any:
        """As :meth:`Calls.unary`."""

        async def once() -> Any:
            try:
                return await method(request, timeout=deadline.remaining(), metadata=self._metadata)
            except grpc.RpcError as failed:
                raise from_call(failed, deadline.seconds) from failed

        return await self._patiently(once, deadline)

    async def stream(self, method: Any, begin: Any, deadline: Deadline) -> tuple[AsyncStream, Any]:
        """As :meth:`Calls.stream`."""

        async def once() -> tuple[AsyncStream, Any]:
            stream = AsyncStream(method, begin, deadline, self._metadata)
            try:
                return stream, await stream.receive()
            except BaseException:
                stream.close()
                raise

        return await self._patiently(once, deadline)

    async def close(self) -> None:
        """As :meth:`Calls.close`."""
        self._closed = True
        await self.channel.close()

    async def ready(self, timeout: float) -> bool:
        """As :meth:`Calls.ready`."""
        _check_open(self._closed)
        deadline = Deadline(timeout)
        while True:
            try:
                reply = await self._health(b"", timeout=deadline.remaining(), metadata=self._metadata)
            except grpc.RpcError as failed:
                if not may_become_ready(failed):
                    raise from_call(failed) from failed
            else:
                if is_serving(reply):
                    return True
            if not deadline.outlasts(POLL_SECONDS):
                return False
            await asyncio.sleep(POLL_SECONDS)

    async def _patiently(self, once: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        _check_open(self._closed)
        failures = 0
        while True:
            try:
                result = await once()
            except Unavailable as error:
                failures += 1
                pause = self._patience.pause(error, failures, deadline)
                if pause is None:
                    raise
            else:
                self._patience.succeeded()
                return result
            await asyncio.sleep(pause)


class Stream:
    """One open stream; frames wait in a queue until the channel takes them."""

    def __init__(self, method: Any, begin: Any, deadline: Deadline, metadata: Metadata) -> None:
        self._seconds = deadline.seconds
        self._frames: SimpleQueue[Any] = SimpleQueue()
        self._frames.put(begin)
        self._call: Any = method(iter(self._frames.get, None), timeout=deadline.remaining(), metadata=metadata)

    def send(self, frame: Any) -> None:
        """Hand over a frame; never waits."""
        self._frames.put(frame)

    def end(self) -> None:
        """Say that no more frames follow."""
        self._frames.put(None)

    def receive(self) -> Any:
        """The service's next frame, or None at the end."""
        try:
            return next(self._call, None)
        except grpc.RpcError as failed:
            raise from_call(failed, self._seconds) from failed

    def close(self) -> None:
        """Cancel what is not finished."""
        self._call.cancel()
        self._frames.put(None)


class AsyncStream:
    """As :class:`Stream`, on the running event loop."""

    def __init__(self, method: Any, begin: Any, deadline: Deadline, metadata: Metadata) -> None:
        self._seconds = deadline.seconds
        self._frames: asyncio.Queue[Any] = asyncio.Queue()
        self._frames.put_nowait(begin)
        self._call: Any = method(self._requests(), timeout=deadline.remaining(), metadata=metadata)

    def send(self, frame: Any) -> None:
        """Hand over a frame; never waits."""
        self._frames.put_nowait(frame)

    def end(self) -> None:
        """Say that no more frames follow."""
        self._frames.put_nowait(None)

    async def receive(self) -> Any:
        """The service's next frame, or None at the end."""
        try:
            frame = await self._call.read()
        except grpc.RpcError as failed:
            raise from_call(failed, self._seconds) from failed
        return None if frame is grpc.aio.EOF else frame

    def close(self) -> None:
        """Cancel what is not finished."""
        self._call.cancel()
        self._frames.put_nowait(None)

    async def _requests(self) -> AsyncIterator[Any]:
        while (frame := await self._frames.get()) is not None:
            yield frame


def _check_open(closed: bool) -> None:
    if closed:
        raise RuntimeError("the client is closed; connect again")
