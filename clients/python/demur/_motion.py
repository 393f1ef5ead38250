"""The motion task: where vehicles will be in the next seconds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Sequence

from demur._calls import AsyncCalls, Calls
from demur._exchange import ChunkError, Exchange
from demur._motion_answer import MotionAnswers, decode
from demur._motion_chunks import MotionChunks
from demur._motion_frame import Agent
from demur._motion_question import Asked, opened, read, whole
from demur._question import Purpose
from demur._retry import Deadline
from demur._service import AsyncService, Service, each, each_read
from demur.v1.motion_pb2_grpc import MotionServiceStub


class Motion(Service):
    """Asks where vehicles will be in the next five seconds, blocking; for any number of threads."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls, MotionServiceStub)

    def predict(
        self,
        asked: Asked,
        *,
        track_ids: Sequence[int] | None = None,
        agents: Sequence[Agent] = (),
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        submission: bool = False,
        timeout: float | None = None,
    ) -> MotionAnswers:
        """Predict vehicles of one scene, or those of feature maps.

        A scene is in the official protobuf of the Shifts motion data (or its JSON): a path, bytes, or a message of the
        released classes. Feature maps are numbers [N, 17, y, x] in the released layout, official prerendered files in a
        list (paths or bytes), or one by a path that ends in ``.npy``.

        Args:
            asked: one of these, or :class:`demur.Scene` or :class:`demur.Maps`.
            track_ids: vehicles of a scene; None: those of its prediction requests.
            agents: whose each map is; none: what the names of files say. With a pose answers are in the frame of the
                scene as well.
            purpose: ``decide`` for a real question, ``explore`` for a hypothetical one, ``replay`` for a past one
                again. Only real ones are audited.
            defer_above: defer above this uncertainty even where the policy would answer, in the unit of the measure
                (``describe().heads``).
            submission: answer with the official submission as well.
            timeout: seconds for everything this call does, retries included; None for the client's own.

        Returns:
            The answers in the order of requests, and what failed while others did not.

        Raises:
            InvalidInput: a file cannot be read or is not what it should be, a track is unknown; said before sending, or
                by the service.
            TooLarge: a scene beyond a message, or more requests than the service takes in one call.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        chunks = MotionChunks(purpose, defer_above, submission)
        pieces = read(whole(asked, track_ids, agents))
        if len(pieces) == 1:
            return decode(self._calls.unary(self._stub.Predict, chunks.unary(pieces[0]), deadline))
        exchange = Exchange(chunks, window=None, on_error="raise")
        return _only(list(self._converse(exchange, [pieces], deadline)))

    def predict_many(
        self,
        questions: Iterable[Asked],
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        submission: bool = False,
        timeout: float | None = None,
        window: int | None = None,
    ) -> Generator[MotionAnswers | ChunkError, None, None]:
        """Predict scene after scene over one stream: one outcome for each, in order, for any number of them.

        Scenes are drawn in the caller's thread, ahead of the answers by no more than the window; at most so many are
        held in memory. Closing the generator, or leaving its loop, cancels what is not finished.

        Args:
            questions: what ``predict`` takes, one at a time; :class:`demur.Scene` names tracks, :class:`demur.Maps`
                agents.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            submission: as for ``predict``.
            timeout: seconds for all of them; None for no limit.
            window: messages on their way at once; None for as many as the service reads ahead.

        Returns:
            For each question its answers, or a :class:`demur.ChunkError` in their place: one that fails does not end
            the stream. A failure of the stream itself is raised.

        Raises:
            DemurError: as ``predict``, while answers are read; wrong options at once.
        """
        exchange = Exchange(MotionChunks(purpose, defer_above, submission), window=window, on_error="yield")
        return self._converse(exchange, map(opened, questions), Deadline(timeout))


class AsyncMotion(AsyncService):
    """As :class:`Motion`, on the running event loop; for any number of its tasks."""

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, MotionServiceStub)

    async def predict(
        self,
        asked: Asked,
        *,
        track_ids: Sequence[int] | None = None,
        agents: Sequence[Agent] = (),
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        submission: bool = False,
        timeout: float | None = None,
    ) -> MotionAnswers:
        """As :meth:`Motion.predict`; files are read in a thread."""
        deadline = self._calls.deadline(timeout)
        chunks = MotionChunks(purpose, defer_above, submission)
        pieces = await asyncio.to_thread(read, whole(asked, track_ids, agents))
        if len(pieces) == 1:
            return decode(await self._calls.unary(self._stub.Predict, chunks.unary(pieces[0]), deadline))
        exchange = Exchange(chunks, window=None, on_error="raise")
        return _only([outcome async for outcome in self._converse(exchange, each([pieces]), deadline)])

    def predict_many(
        self,
        questions: Iterable[Asked] | AsyncIterable[Asked],
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        submission: bool = False,
        timeout: float | None = None,
        window: int | None = None,
    ) -> AsyncGenerator[MotionAnswers | ChunkError, None]:
        """As :meth:`Motion.predict_many`; questions may come from an asynchronous iterable.

        Leaving the loop early cancels when the generator is closed: at once inside ``contextlib.aclosing(...)``, else
        when the event loop collects it.
        """
        exchange = Exchange(MotionChunks(purpose, defer_above, submission), window=window, on_error="yield")
        return self._converse(exchange, each_read(questions, opened), Deadline(timeout))


def _only(outcomes: Sequence[MotionAnswers | ChunkError]) -> MotionAnswers:
    (outcome,) = outcomes
    if isinstance(outcome, ChunkError):
        raise outcome.error
    return outcome
