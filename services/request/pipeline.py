"""The way of one request, top to bottom; every transport is a thin adapter over this file.

decode (transport) → expand and validate → schedule quanta → predictive → measures → policy → ledger
→ collapse to the task's answer → encode (transport)
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.schema import Schema
from services.ledger.contract import Ledger, Payload, Portion, Purpose
from services.ledger.unit_ids import UnitIds
from services.policy.decision import PolicyBook, score, settle
from services.request.admission import ticket
from services.request.schedule import Scheduler
from services.request.work import Done, ItemFailed, Priority, Progress, Units, Work
from services.runtime.errors import DemurError, ExecutionFailed, InvalidInput, shortened
from services.runtime.logging import get_logger
from services.runtime.offload import Offload
from services.tracing.trace import current, step

Request = TypeVar("Request", contravariant=True)
Answer = TypeVar("Answer", covariant=True)
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Call:
    """What a caller wants besides the prediction itself."""

    purpose: Purpose = "decide"
    priority: Priority = Priority.INTERACTIVE
    deadline: float | None = None
    """On the monotonic clock, seconds."""
    defer_above: Mapping[str, float] = field(default_factory=dict)
    """Head name to a stricter threshold of the caller's, in the unit of that head's measure."""


@dataclass(frozen=True)
class Description:
    """What a service expects and promises, for people and for clients."""

    task: str
    model: str
    schema: Schema | None
    heads: tuple[Head, ...]
    max_rows: int
    """Rows (or items) of one unary call."""
    trained_lower: tuple[float, ...] = ()
    """Where training inputs lay, in schema order and units; empty where unknown."""
    trained_upper: tuple[float, ...] = ()

    def trained_range(self, column: int) -> tuple[float, float]:
        """Return where training inputs of a column lay, in its unit; NaN where unknown."""
        if not self.trained_lower:
            return float("nan"), float("nan")
        return self.trained_lower[column], self.trained_upper[column]


class Task(Protocol[Request, Answer]):
    """What a task owns of the way of a request. ``expand`` may run in a thread; ``collapse`` must be quick."""

    name: str
    heads: tuple[Head, ...]

    def expand(self, request: Request) -> Units[Any]:
        """Validates a request and says what is decided in it.

        Raises:
            InvalidInput, TooLarge: see ``services.runtime.errors``.
        """
        ...

    def run(self, units: Units[Any]) -> Work:
        """The device work, as quanta and events; every item ends in one ``Done`` or ``ItemFailed``."""
        ...

    def collapse(self, units: Units[Any], portion: Portion) -> Answer:
        """The task's answer for some of its items."""
        ...


@runtime_checkable
class KeepsInputs(Protocol):
    """A task whose inputs can be kept with what was decided, for those who label."""

    payload_type: str
    """Media type of an item's bytes."""
    payload_kept: bool
    """Whether they are kept unless settings say otherwise."""

    def payload(self, units: Units[Any], items: NDArray[np.intp]) -> list[bytes]:
        """The inputs of some items."""
        ...


class Observer(Protocol):
    """Hears of decided units; see ``services.request.metrics``."""

    def decided(self, portion: Portion) -> None: ...


def _ignore(items: int) -> None:
    """Nobody asked how many items there are."""


class Pipeline(Generic[Request, Answer]):
    """One task's way from request to answer."""

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
        charge: Callable[[int], None] = _ignore,
    ) -> None:
        """
        Args:
            profile: name of the numeric profile that computes the scores.
            charge: told how many units a caller asks for; raises ``Busy`` where it may not have them now.
        """
        self.task = task
        self.policies = policies
        self.model = model
        self.profile = profile
        self.offload = offload
        """Where transports read and write large bodies, too."""
        self.ledger = ledger
        self._scheduler = scheduler
        self._observer = observer
        self._heads = {head.name: head for head in task.heads}
        self._keeps = task if isinstance(task, KeepsInputs) else None
        self._epoch = epoch()
        self._charge = charge
        self._next = 0

    async def expand(self, request: Request, call: Call, nbytes: int = 0) -> Units[Any]:
        """A request, validated and expanded to what is decided in it.

        Args:
            nbytes: size of the request as text; a large one is worked on beside the event loop.

        Raises:
            DemurError: the request or a wish of the caller is refused.
        """
        with step("expand"):
            self._check(call)
            return await self.offload.run(nbytes, self.task.expand, request)

    async def answer(self, request: Request, call: Call, nbytes: int = 0) -> list[Answer | ItemFailed]:
        """All of a request's answers, in the order in which its items finished.

        Raises:
            DemurError: the request was refused or failed as a whole.
        """
        units = await self.expand(request, call, nbytes)
        return [event async for event in self.events(units, call) if not isinstance(event, Progress)]

    async def events(
        self, units: Units[Any], call: Call, finished: Callable[[int], None] = _ignore
    ) -> AsyncGenerator[Answer | ItemFailed | Progress, None]:
        """Answers to an expanded request as its items finish, with progress between them.

        Closing the generator early cancels what has not run yet.

        Args:
            finished: told, before each answer, how many items are finished with it: an answer may be of many.
                An item that failed is finished, too.

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
            held.give_back()  # it waits for a lane, not for the event loop
        items = 0
        try:
            self._charge(units.count)
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
                portion = await self._decide(units, event, call)
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

    async def _decide(self, units: Units[Any], done: Done, call: Call) -> Portion:
        shifts = units.shifts[done.first : done.first + done.count]
        if done.shifts is not None:
            shifts = done.shifts if not len(shifts) else shifts | done.shifts
        with step("uncertainty"):
            scored = {
                name: score(self.policies[name], self._heads[name], predictive)
                for name, predictive in done.predictives.items()
            }
        with step("policy"):
            verdicts = {head: settle(one, shifts, call.defer_above.get(head)) for head, one in scored.items()}
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
        if not portion.count:  # a request without units, answered all the same
            return portion
        self._observer.decided(portion)
        current().decided(verdicts)
        with step("ledger"):
            if await self.ledger.record(portion, self._payload(units, done.first)):
                portion = replace(portion, recorded=True)
        return portion

    def _payload(self, units: Units[Any], first: int) -> Payload | None:
        keeps = self._keeps
        return None if keeps is None else Payload(keeps.payload_type, lambda items: keeps.payload(units, items + first))

    def _check(self, call: Call) -> None:
        for head in call.defer_above:
            if head not in self.policies:
                heads = ", ".join(policy.head for policy in self.policies.all())
                raise InvalidInput(
                    f"defer_above names the head {shortened(head)!r}, this model has {heads}",
                    code="unknown_head",
                    field="defer_above",
                    value=head,
                    allowed=heads,
                )

    def _ids(self, count: int) -> UnitIds:
        first = self._next
        self._next += count
        return UnitIds(self._epoch, first, count)


def _report(error: DemurError) -> None:
    """Logs what the model failed on; refusals and deadlines are the caller's to know."""
    if isinstance(error, ExecutionFailed):
        _log.error("the model failed", exc_info=error.__cause__ or error)
