"""Calls over one channel, with retries, a shared deadline and typed errors."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc

from demur._address import LIST_SERVICES, REFLECTION_METHOD, REFLECTION_SECONDS, called_task, failure, wrong_service
from demur._connection import HEALTH_METHOD, POLL_SECONDS, Connection, is_serving, may_become_ready
from demur._errors import DemurError, Unavailable, WrongAddress
from demur._event_loop import Stream, open_channel
from demur._retry import Deadline, RetryBudget

T = TypeVar("T")


class AsyncCalls:
    """Asynchronous calls over one channel, for any number of tasks of its event loop."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.channel, self.metadata = open_channel(connection)
        self._closed = False
        self._budget = RetryBudget(connection.retry)
        self._health: Any = self.channel.unary_unary(HEALTH_METHOD)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.connection,)

    def deadline(self, timeout: float | None) -> Deadline:
        """Return the deadline of a call that starts now; None means the client's own timeout."""
        return Deadline(self.connection.timeout if timeout is None else timeout)

    async def unary(self, method: Any, request: Any, deadline: Deadline) -> Any:
        """Return the response to a request.

        Raises:
            DemurError: the call failed, after such retries as the policy allows.
        """

        async def attempt() -> Any:
            try:
                return await method(request, timeout=deadline.remaining(), metadata=self.metadata)
            except grpc.RpcError as failed:
                raise await self._failure(failed, method, deadline.seconds) from failed

        return await self._retried(attempt, deadline)

    async def stream(self, method: Any, begin: Any, deadline: Deadline) -> tuple[Stream, Any]:
        """Open a stream and return it with the service's first frame; opening is retried, what follows is not."""

        async def attempt() -> tuple[Stream, Any]:
            stream = Stream(method, begin, deadline, self.metadata, self._failure)
            try:
                return stream, await stream.receive()
            except BaseException:
                stream.close()
                raise

        return await self._retried(attempt, deadline)

    async def ready(self, timeout: float) -> bool:
        """Poll the health service; return True once it reports that it is serving, False after ``timeout`` seconds."""
        self.check_open()
        deadline = Deadline(timeout)
        while True:
            try:
                reply = await self._health(b"", timeout=deadline.remaining(), metadata=self.metadata)
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

    async def close(self) -> None:
        """Close the channel and cancel calls that are not finished."""
        self._closed = True
        await self.channel.close()

    def check_open(self) -> None:
        """
        Raises:
            RuntimeError: the client was closed.
        """
        if self._closed:
            raise RuntimeError("the client is closed; connect again")

    async def _retried(self, attempt: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        self.check_open()
        failures = 0
        while True:
            try:
                result = await attempt()
            except Unavailable as error:
                failures += 1
                pause = self._budget.pause(error, failures, deadline)
                if pause is None:
                    raise
            else:
                self._budget.succeeded()
                return result
            await asyncio.sleep(pause)

    async def _failure(self, failed: grpc.RpcError, method: Any, seconds: float | None) -> DemurError:
        """Return the typed error of a failed call; where the service is missing, it names the one that answers."""
        task, target = called_task(failed, method), self.connection.target
        if task is None:
            return failure(failed, seconds, target)
        reflection: Any = self.channel.stream_stream(REFLECTION_METHOD)
        stream = Stream(reflection, LIST_SERVICES, Deadline(REFLECTION_SECONDS), self.metadata, self._failure)
        stream.end()
        try:
            services = await stream.receive() or b""
        except DemurError:
            services = b""
        finally:
            stream.close()
        return wrong_service(target, task, services, failed)
