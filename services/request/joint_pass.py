"""Joint pass: small requests that wait at the same time are answered in one synchronous batch.

Their rows are validated, run, measured, decided and recorded together, on the event loop, without a job, a thread or a
task: one run of the graph and one write of the journal for all of them. A failure affects only its own request.
Larger requests take their turns in the schedule.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Generic

from models.executors.failures import DeviceFailed
from services.ledger.contract import Portion
from services.request.contract import Answer, Call, Done, JoinsRequests, Priority, Request, Units
from services.request.schedule import Scheduler
from services.runtime.errors import DeadlineExceeded, DemurError, ExecutionFailed, execution_failed, internal
from services.runtime.logging import get_logger
from services.tracing.trace import step

_log = get_logger(__name__)
MOST_REQUESTS = 16
"""Maximum number of requests that transports put into one pass, so that others get their turn of the event loop."""
Charge = Callable[[int], None]
Outcome = Any
"""Answer of the task, a ``DemurError``, or an awaitable of the answer if its units wait for a commit of the ledger."""
Decide = Callable[[Units[Any], Done, Call], tuple[Portion, bool | Awaitable[bool]]]


@dataclass(frozen=True, slots=True)
class SmallRequest(Generic[Request]):
    """Request that may share its pass with others."""

    request: Request
    call: Call
    charge: Charge | None = None
    """Charges the caller for a number of units, and raises ``Busy``; None: nothing is charged."""


class JointPass(Generic[Request, Answer]):
    """Synchronous pass of a task over small requests; use it from the scheduler's event loop only."""

    def __init__(self, task: JoinsRequests[Request, Answer], scheduler: Scheduler, decide: Decide) -> None:
        """
        Args:
            decide: decides and records the units of a finished pass; returns the portion, and whether it is durable.
        """
        self._task, self._scheduler, self._decide = task, scheduler, decide
        self._heads = frozenset(head.name for head in task.heads)
        self.seconds = scheduler.limits.inline_seconds
        """Longest expected duration of one pass of several requests, in seconds."""

    @property
    def lanes_idle(self) -> bool:
        """True while no lane runs a quantum of a larger request."""
        return self._scheduler.lanes_idle

    def duration(self, request: Request) -> float:
        """Return the expected duration of a request's pass alone, in seconds."""
        return self._task.expected_seconds(request)

    def takes(self, request: Request, call: Call) -> bool:
        """Return whether a request is small enough, and of a call that does not have to wait behind others."""
        seconds = self._task.expected_seconds(request)
        return call.priority is Priority.INTERACTIVE and self._scheduler.runs_inline(seconds)

    def answer(self, requests: Sequence[SmallRequest[Request]]) -> list[Outcome]:
        """Return the outcome of each request.

        Those with equal options share a pass; requests that are charged for run alone.
        """
        outcomes: list[Any] = [None] * len(requests)
        groups: dict[Hashable, list[int]] = {}
        for index, small in enumerate(requests):
            call = small.call
            if call.deadline is not None and self._scheduler.clock() >= call.deadline:
                outcomes[index] = DeadlineExceeded(
                    "the deadline passed before the work was done", code="deadline_exceeded"
                )
                continue
            alone = index if small.charge is not None else -1
            key = (alone, self._task.alike(small.request), call.purpose, tuple(call.defer_above.items()))
            groups.setdefault(key, []).append(index)
        for members in groups.values():
            self._answer_unless_refused(requests, members, outcomes)
        return outcomes

    async def answer_alone(self, small: SmallRequest[Request]) -> Answer:
        """Return the answer to one request.

        Raises:
            DemurError: the request was refused or failed.
        """
        (outcome,) = self.answer((small,))
        return await self.settled(outcome)

    async def settled(self, outcome: Outcome) -> Answer:
        """Return the answer of an outcome, once its units are durable.

        Raises:
            DemurError: the request was refused or failed.
        """
        if isinstance(outcome, Exception):
            raise outcome
        answer: Answer = await outcome if isawaitable(outcome) else outcome
        return answer

    def _answer_unless_refused(
        self, requests: Sequence[SmallRequest[Request]], members: Sequence[int], outcomes: list[Any]
    ) -> None:
        """Set the outcomes of some requests; the device may have failed with those before them."""
        if (refusal := self._scheduler.refusal()) is None:
            self._answer_together(requests, members, outcomes)
        else:
            _fail(members, outcomes, refusal)

    def _answer_together(
        self, requests: Sequence[SmallRequest[Request]], members: Sequence[int], outcomes: list[Any]
    ) -> None:
        """Set the outcomes of some requests with equal options."""
        first = requests[members[0]]
        try:
            first.call.check_heads(self._heads)
            with step("expand"):
                units, bounds = self._task.join([requests[index].request for index in members])
            if first.charge is not None and units is not None:
                first.charge(units.count)
        except Exception as error:
            _fail(members, outcomes, error)
            return
        accepted = []
        for index, place in zip(members, bounds, strict=True):
            if isinstance(place, DemurError):
                outcomes[index] = place
            else:
                accepted.append((index, place))
        if units is None:
            return
        try:
            batch = self._task.batch(units)
            if batch.size > batch.most and len(accepted) > 1:  # more than one pass may hold
                half = len(accepted) // 2
                for part in (accepted[:half], accepted[half:]):
                    self._answer_unless_refused(requests, [index for index, _ in part], outcomes)
                return
            arrays = self._scheduler.run_inline(batch, len(accepted))
        except Exception as error:
            if len(accepted) > 1 and not isinstance(error, DeviceFailed):
                for index, _ in accepted:
                    self._answer_unless_refused(requests, (index,), outcomes)
            else:
                _fail([index for index, _ in accepted], outcomes, execution_failed(error))
            return
        try:
            portion, recorded = self._decide(units, self._task.finished(units, arrays), first.call)
            places = [place for _, place in accepted]
            if isinstance(recorded, bool):
                answers: Sequence[Any] = self._task.split(units, portion, places)
            else:
                answers = self._committed(units, portion, places, recorded)
        except Exception as error:
            _fail([index for index, _ in accepted], outcomes, error)
            return
        for (index, _), answer in zip(accepted, answers, strict=True):
            outcomes[index] = answer

    def _committed(
        self, units: Units[Any], portion: Portion, places: Sequence[tuple[int, int]], recorded: Awaitable[bool]
    ) -> list[Awaitable[Answer]]:
        """Return the answers of requests whose common units wait for a commit."""

        async def split() -> Sequence[Answer]:
            return self._task.split(units, portion.as_recorded(await recorded), places)

        async def one(index: int) -> Answer:
            return (await asyncio.shield(common))[index]

        common = asyncio.ensure_future(split())
        common.add_done_callback(_note_failure)  # all callers may have left
        return [one(index) for index in range(len(places))]


def _note_failure(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()


def _fail(members: Sequence[int], outcomes: list[Any], error: Exception) -> None:
    failure = internal(error)
    if failure is not error:
        _log.error("a joint pass failed by a defect", exc_info=error)
    elif isinstance(failure, ExecutionFailed):
        _log.error("the model failed", exc_info=failure.__cause__ or failure)
    for index in members:
        outcomes[index] = failure
