"""Operations that the services of all tasks share: describe, commit, and one stream of requests."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

from demur._async.calls import AsyncCalls
from demur._connection import Reconnecting
from demur._description import Description, description
from demur._exchange import StreamState
from demur._ids import Committed, Identified, Ids, commit_request, committed
from demur._retry import Deadline
from demur.v1.common_pb2 import DescribeRequest
from demur.v1.labels_pb2_grpc import LabelServiceStub

Q = TypeVar("Q")
T = TypeVar("T")


class AsyncService(Reconnecting):
    """Asynchronous client of one task's service, for any number of tasks of its event loop."""

    def __init__(self, calls: AsyncCalls, stub: Callable[[Any], Any]) -> None:
        self._calls = calls
        self._stub: Any = stub(calls.channel)
        self._labels: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    async def describe(self, *, timeout: float | None = None) -> Description:
        """Ask the service for its columns, heads, policies and limits; seconds, None for the client's own timeout."""
        return await self._describe(self._calls.deadline(timeout))

    async def commit(self, units: Identified | Ids, *, timeout: float | None = None) -> Committed:
        """Turn explored units into decided ones, durably; from now on audits are drawn and labels requested for them.

        Idempotent.

        Args:
            units: an answer, the answer of one head, ``prediction_ids``, or some of them.
            timeout: seconds for the call; None for the client's own.

        Raises:
            InvalidInput: one of them is not an id.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        return committed(await self._calls.unary(self._labels.Commit, commit_request(units), deadline))

    async def _describe(self, deadline: Deadline) -> Description:
        return description(await self._calls.unary(self._stub.Describe, DescribeRequest(), deadline))

    async def _converse(
        self, state: StreamState[Q, T], requests: AsyncGenerator[Q, None], deadline: Deadline
    ) -> AsyncGenerator[T, None]:
        """Yield the outcomes of one stream; closing this generator cancels what is not finished.

        Frames wait in memory only while the window has room for them: the next request is drawn after the answers that
        the window demands.
        """
        stream, first = await self._calls.stream(self._stub.PredictStream, state.begin, deadline)
        try:
            state.accept(first)
            async with aclosing(requests):
                async for request in requests:
                    for frame in state.offer(request):
                        stream.send(frame)
                        while state.full:
                            state.receive(await stream.receive())
                            for outcome in state.outcomes():
                                yield outcome
                    for outcome in state.outcomes():
                        yield outcome
                    if state.finishing:
                        break
            stream.end()
            while state.open:
                state.receive(await stream.receive())
                for outcome in state.outcomes():
                    yield outcome
        finally:
            stream.close()
