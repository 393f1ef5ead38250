"""Client of the motion service: positions of vehicles in the next seconds."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from demur._async.calls import AsyncCalls
from demur._async.service import AsyncService
from demur._event_loop import Items, each, each_read
from demur._exchange import ChunkError, Exchange
from demur._motion.answer import MotionAnswers, decode
from demur._motion.frame import Agent
from demur._motion.request import MotionChunks, MotionInput, read, read_or_error, with_agents
from demur._options import Purpose
from demur._retry import Deadline
from demur.v1.motion_pb2_grpc import MotionServiceStub


class AsyncMotion(AsyncService):
    """Asynchronous client of the motion service, for any number of tasks of its event loop.

    It predicts where vehicles will be in the next five seconds.
    """

    def __init__(self, calls: AsyncCalls) -> None:
        super().__init__(calls, MotionServiceStub)

    async def predict(
        self,
        asked: MotionInput,
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
        list (paths or bytes), or a single file by a path that ends in ``.npy``.

        Args:
            asked: one of these, or :class:`demur.Scene` or :class:`demur.Maps`.
            track_ids: vehicles of a scene; None: those of its prediction requests.
            agents: the agent of each map; empty: taken from the names of files. With a pose, answers are in the frame
                of the scene as well.
            purpose: ``decide`` for a request that is acted on, ``explore`` for a hypothetical one, ``replay`` to repeat
                a past one. Only ``decide`` is audited.
            defer_above: defer above this uncertainty even where the policy would answer, in the unit of the measure
                (``describe().heads``).
            submission: return the official submission as well.
            timeout: seconds for everything this call does, retries included; None for the client's own.

        Returns:
            The answers in the order of requests, and the failures of requests whose neighbours succeeded.

        Raises:
            InvalidInput: a file cannot be read or is not of the right kind, or a track is unknown; detected before
                sending, or by the service.
            TooLarge: a scene beyond a message, or more requests than the service accepts in one call.
            DemurError: any other of the tree in :mod:`demur`.
        """
        deadline = self._calls.deadline(timeout)
        chunks = MotionChunks(purpose, defer_above, submission)
        pieces = await asyncio.to_thread(read, with_agents(asked, track_ids, agents))
        if len(pieces) == 1:
            return decode(await self._calls.unary(self._stub.Predict, chunks.unary(pieces[0]), deadline))
        exchange = Exchange(chunks, window=None, on_error="raise")
        (outcome,) = [outcome async for outcome in self._converse(exchange, each([pieces]), deadline)]
        if isinstance(outcome, ChunkError):
            raise outcome.error
        return outcome

    def predict_many(
        self,
        questions: Items[MotionInput],
        *,
        purpose: Purpose = "decide",
        defer_above: float | None = None,
        submission: bool = False,
        timeout: float | None = None,
        window: int | None = None,
    ) -> AsyncGenerator[MotionAnswers | ChunkError, None]:
        """Predict scene after scene over one stream: one outcome for each, in order, for any number of them.

        Scenes are drawn ahead of the answers by no more than the window, which bounds memory. Closing the generator
        cancels what is not finished; leaving the loop of an asynchronous one closes it at once only inside
        ``contextlib.aclosing(...)``.

        Args:
            questions: inputs as for ``predict``; :class:`demur.Scene` names tracks, :class:`demur.Maps` agents.
            purpose: as for ``predict``.
            defer_above: as for ``predict``.
            submission: as for ``predict``.
            timeout: seconds for all of them; None for no limit.
            window: messages in flight at once; None for as many as the service reads ahead.

        Returns:
            For each input its answers, or a :class:`demur.ChunkError` in their place: one that fails does not end
            the stream. A failure of the stream itself is raised.

        Raises:
            DemurError: as ``predict``, while answers are read; invalid options at once.
        """
        exchange = Exchange(MotionChunks(purpose, defer_above, submission), window=window, on_error="yield")
        return self._converse(exchange, each_read(questions, read_or_error), Deadline(timeout))
