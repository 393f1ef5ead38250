"""Request pipeline, from validation to answer; each transport is a thin adapter over this module.

decode (transport) → expand and validate → schedule quanta → predictive → measures → policy → ledger
→ collapse to the task's answer → encode (transport)
"""

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Generic

from services.ledger.contract import Ledger, Payload, Portion
from services.ledger.unit_ids import UnitIds
from services.policy.decision import PolicyBook, score, settle
from services.request.admission import ticket
from services.request.contract import (
    Answer,
    Call,
    Done,
    ItemFailed,
    JoinsRequests,
    KeepsInputs,
    Observer,
    Progress,
    Request,
    Task,
    Units,
)
from services.request.gathering import Gathering
from services.request.joint_pass import JointPass, SmallRequest
from services.request.schedule import Scheduler
from services.runtime.errors import DemurError, ExecutionFailed
from services.runtime.logging import get_logger
from services.runtime.offload import Offload
from services.tracing.trace import current, step

_log = get_logger(__name__)


def _nothing() -> None:
    """Return None; default of ``charging``."""


def _ignore(items: int) -> None:
    """Do nothing; default of callbacks."""


class Pipeline(Generic[Request, Answer]):
    """Pipeline of a task's requests, from validation to answer."""

    def __init__(
        self,
        task: Task[Request, Answer],
        scheduler: Scheduler,
        policies: PolicyBook,
        *,
        model: str,
        profile: str,
        ledger: Ledger,
        observer: Observer,
        offload: Offload,
        epoch: Callable[[], int] = lambda: secrets.randbits(63),
        charging: Callable[[], Callable[[int], None] | None] = _nothing,
    ) -> None:
        """Initialise a pipeline without requests.

        Args:
            profile: name of the numeric profile that computes the scores.
            charging: returns what charges the current caller for a number of units, and raises ``Busy`` if its rate is
                exhausted; None: units are free.
        """
        self.task = task
        self.policies = policies
        self.model = model
        self.profile = profile
        self.offload = offload
        """Thread pool for large bodies, also used by transports."""
        self.ledger = ledger
        self._scheduler = scheduler
        self._observer = observer
        self._heads = {head.name: head for head in task.heads}
        self._keeps = task if isinstance(task, KeepsInputs) else None
        self._epoch = epoch()
        self._charging = charging
        self._next = 0
        self.joint = JointPass(task, scheduler, self._decide) if isinstance(task, JoinsRequests) else None
        """Pass that small requests share; None if the task has none."""
        self._gathering = None if self.joint is None else Gathering(self.joint, scheduler.clock)

    async def expand(self, request: Request, call: Call, nbytes: int = 0) -> Units[Any]:
        """Validate a request and expand it to the units to decide.

        Args:
            nbytes: size of the request as text; a large one is processed in a thread.

        Raises:
            DemurError: the request or an option of the call is invalid.
        """
        with step("expand"):
            call.check_heads(self._heads)
            return await self.offload.run(nbytes, self.task.expand, request)

    async def answer(self, request: Request, call: Call, nbytes: int = 0) -> list[Answer | ItemFailed]:
        """Return all answers of a request, in the order in which its items finished.

        Raises:
            DemurError: the request was refused or failed as a whole.
        """
        gathering = self._gathering
        if gathering is not None and gathering.joint.takes(request, call):
            small = SmallRequest(request, call, self._charging())
            answered = gathering.joint.answer_alone if current().recorded_id else gathering.answer
            return [await answered(small)]
        units = await self.expand(request, call, nbytes)
        return [event async for event in self.events(units, call) if not isinstance(event, Progress)]

    async def events(
        self, units: Units[Any], call: Call, finished: Callable[[int], None] = _ignore
    ) -> AsyncGenerator[Answer | ItemFailed | Progress, None]:
        """Yield answers to an expanded request as its items finish, and progress between them.

        Closing the generator early cancels quanta that have not started.

        Args:
            finished: called before each answer with the number of finished items, failed ones included.

        Raises:
            DemurError: the request failed as a whole; ``Busy`` and ``Draining`` come before the first event.
        """
        job = self._scheduler.submit(
            self.task.run(units),
            seconds=units.seconds,
            nbytes=units.nbytes,
            priority=call.priority,
            deadline=call.deadline,
        )
        held = ticket.get()
        if held is not None and not self._scheduler.is_quick(job):
            held.give_back()  # the job waits for a lane, not for the event loop
        items = 0
        try:
            if (charge := self._charging()) is not None:
                charge(units.count)
            async for event in job:
                if isinstance(event, Progress):
                    yield event
                    continue
                if isinstance(event, ItemFailed):
                    items += 1
                    finished(items)
                    current().item_failed(event.error)
                    _report(event.error)
                    yield event
                    continue
                items += event.count
                portion, recorded = self._decide(units, event, call)
                if not isinstance(recorded, bool):
                    with step("ledger"):
                        portion = portion.as_recorded(await recorded)
                answer = self.task.collapse(units, portion)
                finished(items)
                yield answer
        except ExecutionFailed as failure:
            _report(failure)
            raise
        finally:
            job.cancel()
        if items != units.count:
            raise ExecutionFailed(
                f"the task finished {items} of {units.count} items: a defect of the service",
                code="incomplete",
            )

    def _decide(self, units: Units[Any], done: Done, call: Call) -> tuple[Portion, bool | Awaitable[bool]]:
        """Decide and record finished units; return them, and whether they are durable, which may take a commit."""
        shifts = units.shifts[done.first : done.first + done.count]
        if done.shifts is not None:
            shifts = done.shifts if not len(shifts) else shifts | done.shifts
        with step("uncertainty"):
            scored = {
                name: score(self.policies[name], self._heads[name], predictive)
                for name, predictive in done.predictives.items()
            }
        with step("policy"):
            verdicts = {
                head: settle(head_scores, shifts, call.defer_above.get(head)) for head, head_scores in scored.items()
            }
        portion = Portion(
            first=done.first,
            count=done.count,
            predictives=done.predictives,
            verdicts=verdicts,
            ids={head: self._ids(len(verdict.decisions)) for head, verdict in verdicts.items()},
            payload=done.payload,
            model=self.model,
            profile=self.profile,
            purpose=call.purpose,
        )
        if not portion.count:  # a request without units
            return portion, False
        self._observer.decided(portion)
        current().decided(verdicts)
        with step("ledger"):
            recorded = self.ledger.record(portion, self._payload(units, done.first))
        return portion.as_recorded(True) if recorded is True else portion, recorded

    def _payload(self, units: Units[Any], first: int) -> Payload | None:
        keeps = self._keeps
        return None if keeps is None else Payload(keeps.payload_type, lambda items: keeps.payload(units, items + first))

    def _ids(self, count: int) -> UnitIds:
        first = self._next
        self._next += count
        return UnitIds(self._epoch, first, count)


def _report(error: DemurError) -> None:
    """Log failures of the model; invalid requests and deadlines are reported to the caller only."""
    if isinstance(error, ExecutionFailed):
        _log.error("the model failed", exc_info=error.__cause__ or error)
