"""What every task's service is to its callers, blocking and on the event loop: described, committed to, streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

from demur._calls import AsyncCalls, Calls
from demur._commit import Committed, Identified, commit_request, committed
from demur._connection import Reconnecting
from demur._describe import Description, description
from demur._label import Ids
from demur._retry import Deadline
from demur.v1.common_pb2 import DescribeRequest
from demur.v1.labels_pb2_grpc import LabelServiceStub

T = TypeVar("T")
Q = TypeVar("Q")
QuestionT = TypeVar("QuestionT", contravariant=True)
OutcomeT = TypeVar("OutcomeT", covariant=True)


class Conversation(Protocol[QuestionT, OutcomeT]):
    """State of one stream, without input or output: questions in, frames out; frames in, one outcome a question out."""

    begin: Any
    """The first frame to send."""

    @property
    def open(self) -> bool:
        """Whether the service may still send frames."""
        ...

    def accept(self, frame: Any) -> None:
        """Take the service's first frame, or None for its end."""
        ...

    def offer(self, question: QuestionT, /) -> Iterator[Any]:
        """The frames of the caller's next question, to be sent one by one while not ``full``."""
        ...

    @property
    def full(self) -> bool:
        """Whether an answer must be received before more is sent."""
        ...

    @property
    def finishing(self) -> bool:
        """Whether no more questions are to be drawn."""
        ...

    def receive(self, frame: Any) -> None:
        """Take a frame of the service, or None for its end."""
        ...

    def outcomes(self) -> Iterator[OutcomeT]:
        """What is known and was not handed over yet, in the caller's order."""
        ...


class Service(Reconnecting):
    """A task's service, blocking; for any number of threads."""

    def __init__(self, calls: Calls, stub: Callable[[Any], Any]) -> None:
        self._calls = calls
        self._stub: Any = stub(calls.channel)
        self._labels: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    def describe(self, *, timeout: float | None = None) -> Description:
        """What the service expects and promises, asked anew; seconds, None for the client's own timeout."""
        return self._describe(self._calls.deadline(timeout))

    def commit(self, units: Identified | Ids, *, timeout: float | None = None) -> Committed:
        """Act on explored units: they become decided ones, durably; audits are drawn and labels asked for from now on.

        Args:
            units: an answer, what one head answered, ``prediction_ids``, or some of them. Committing twice is as once.
            timeout: seconds for the call; None for the client's own.

        Raises:
            InvalidInput: one is no id.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        return committed(self._calls.unary(self._labels.Commit, commit_request(units), deadline))

    def _describe(self, deadline: Deadline) -> Description:
        return description(self._calls.unary(self._stub.Describe, DescribeRequest(), deadline))

    def _converse(
        self, conversation: Conversation[Q, T], questions: Iterable[Q], deadline: Deadline
    ) -> Generator[T, None, None]:
        """The outcomes of one stream; closing the generator cancels what is not finished."""
        stream, first = self._calls.stream(self._stub.PredictStream, conversation.begin, deadline)
        try:
            conversation.accept(first)
            for question in questions:
                for frame in conversation.offer(question):
                    stream.send(frame)
                    while conversation.full:
                        conversation.receive(stream.receive())
                        yield from conversation.outcomes()
                yield from conversation.outcomes()
                if conversation.finishing:
                    break
            stream.end()
            while conversation.open:
                conversation.receive(stream.receive())
                yield from conversation.outcomes()
        finally:
            stream.close()


class AsyncService(Reconnecting):
    """As :class:`Service`, on the running event loop; for any number of its tasks."""

    def __init__(self, calls: AsyncCalls, stub: Callable[[Any], Any]) -> None:
        self._calls = calls
        self._stub: Any = stub(calls.channel)
        self._labels: Any = LabelServiceStub(calls.channel)  # type: ignore[no-untyped-call]

    async def describe(self, *, timeout: float | None = None) -> Description:
        """As :meth:`Service.describe`."""
        return await self._describe(self._calls.deadline(timeout))

    async def commit(self, units: Identified | Ids, *, timeout: float | None = None) -> Committed:
        """As :meth:`Service.commit`."""
        deadline = self._calls.deadline(timeout)
        return committed(await self._calls.unary(self._labels.Commit, commit_request(units), deadline))

    async def _describe(self, deadline: Deadline) -> Description:
        return description(await self._calls.unary(self._stub.Describe, DescribeRequest(), deadline))

    async def _converse(
        self, conversation: Conversation[Q, T], questions: AsyncGenerator[Q, None], deadline: Deadline
    ) -> AsyncGenerator[T, None]:
        """As :meth:`Service._converse`; questions are closed with it."""
        stream, first = await self._calls.stream(self._stub.PredictStream, conversation.begin, deadline)
        try:
            conversation.accept(first)
            async with aclosing(questions):
                async for question in questions:
                    for frame in conversation.offer(question):
                        stream.send(frame)
                        while conversation.full:
                            conversation.receive(await stream.receive())
                            for outcome in conversation.outcomes():
                                yield outcome
                    for outcome in conversation.outcomes():
                        yield outcome
                    if conversation.finishing:
                        break
            stream.end()
            while conversation.open:
                conversation.receive(await stream.receive())
                for outcome in conversation.outcomes():
                    yield outcome
        finally:
            stream.close()


async def each(items: Iterable[T] | AsyncIterable[T]) -> AsyncGenerator[T, None]:
    """The items of an iterable of either kind."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


async def each_read(items: Iterable[Q] | AsyncIterable[Q], read: Callable[[Q], T]) -> AsyncGenerator[T, None]:
    """What ``read`` makes of each item, in a thread."""
    async with aclosing(each(items)) as source:
        async for item in source:
            yield await asyncio.to_thread(read, item)
