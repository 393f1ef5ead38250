"""The thin layer that waits: calls with retries, and open streams; once for threads, once for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import grpc
import grpc.aio

from demur._address import (
    LIST_SERVICES,
    REFLECTION_METHOD,
    REFLECTION_SECONDS,
    asked_task,
    failure,
    wrong_service,
)
from demur._channel import HEALTH_METHOD, POLL_SECONDS, Metadata, is_serving, may_become_ready
from demur._connection import Connection
from demur._errors import DemurError, Unavailable, WrongAddress
from demur._retry import Deadline, Patience

T = TypeVar("T")


class Calls:
    """Calls over one channel, blocking; for any number of threads."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.channel, self._metadata = connection.open()
        self._closed = False
        self._patience = Patience(connection.retry)
        self._health: Any = self.channel.unary_unary(HEALTH_METHOD)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.connection,)

    def deadline(self, timeout: float | None) -> Deadline:
        """From now; None means the client's own timeout."""
        return Deadline(self.connection.timeout if timeout is None else timeout)

    def unary(self, method: Any, request: Any, deadline: Deadline) -> Any:
        """The response to a request.

        Raises:
            DemurError: the call failed, after such retries as the policy allows.
        """

        def once() -> Any:
            try:
                return method(request, timeout=deadline.remaining(), metadata=self._metadata)
            except grpc.RpcError as failed:
                raise self._failure(failed, method, deadline.seconds) from failed

        return self._patiently(once, deadline)

    def stream(self, method: Any, begin: Any, deadline: Deadline) -> tuple[Stream, Any]:
        """An open stream and the service's first frame; opening is retried, what follows is not."""

        def once() -> tuple[Stream, Any]:
            stream = Stream(method, begin, deadline, self._metadata, self._failure)
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
                error = failure(failed, None, self.connection.target)
                if isinstance(error, WrongAddress) or not may_become_ready(failed):
                    raise error from failed
            else:
                if is_serving(reply):
                    return True
            if not deadline.outlasts(POLL_SECONDS):
                return False
            time.sleep(POLL_SECONDS)

    def _failure(self, failed: grpc.RpcError, method: Any, seconds: float | None) -> DemurError:
        """The typed error of a failed call, which tells what answers where the service called does not exist."""
        task, target = asked_task(failed, method), self.connection.target
        if task is None:
            return failure(failed, seconds, target)
        reflection: Any = self.channel.stream_stream(REFLECTION_METHOD)
        call = reflection(iter([LIST_SERVICES]), timeout=REFLECTION_SECONDS, metadata=self._metadata)
        try:
            listed = next(call, b"")
        except grpc.RpcError:
            listed = b""
        finally:
            call.cancel()
        return wrong_service(target, task, listed, failed)

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

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.channel, self._metadata = connection.aopen()
        self._closed = False
        self._patience = Patience(connection.retry)
        self._health: Any = self.channel.unary_unary(HEALTH_METHOD)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.connection,)

    def deadline(self, timeout: float | None) -> Deadline:
        """From now; None means the client's own timeout."""
        return Deadline(self.connection.timeout if timeout is None else timeout)

    async def unary(self, method: Any, request: Any, deadline: Deadline) -> Any:
        """As :meth:`Calls.unary`."""

        async def once() -> Any:
            try:
                return await method(request, timeout=deadline.remaining(), metadata=self._metadata)
            except grpc.RpcError as failed:
                raise await self._failure(failed, method, deadline.seconds) from failed

        return await self._patiently(once, deadline)

    async def stream(self, method: Any, begin: Any, deadline: Deadline) -> tuple[AsyncStream, Any]:
        """As :meth:`Calls.stream`."""

        async def once() -> tuple[AsyncStream, Any]:
            stream = AsyncStream(method, begin, deadline, self._metadata, self._failure)
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
                error = failure(failed, None, self.connection.target)
                if isinstance(error, WrongAddress) or not may_become_ready(failed):
                    raise error from failed
            else:
                if is_serving(reply):
                    return True
            if not deadline.outlasts(POLL_SECONDS):
                return False
            await asyncio.sleep(POLL_SECONDS)

    async def _failure(self, failed: grpc.RpcError, method: Any, seconds: float | None) -> DemurError:
        """As :meth:`Calls._failure`."""
        task, target = asked_task(failed, method), self.connection.target
        if task is None:
            return failure(failed, seconds, target)
        reflection: Any = self.channel.stream_stream(REFLECTION_METHOD)
        call = reflection(iter([LIST_SERVICES]), timeout=REFLECTION_SECONDS, metadata=self._metadata)
        try:
            listed = await call.read() or b""
        except grpc.RpcError:
            listed = b""
        finally:
            call.cancel()
        return wrong_service(target, task, listed, failed)

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
            raise self._failure(failed, self._method, self._seconds) from failed

    def close(self) -> None:
        """Cancel what is not finished."""
        self._call.cancel()
        self._frames.put(None)


class AsyncStream:
    """As :class:`Stream`, on the running event loop."""

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
            raise await self._failure(failed, self._method, self._seconds) from failed
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
