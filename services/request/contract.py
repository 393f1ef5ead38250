"""Contract between tasks, the pipeline and the scheduler: calls, units, quanta and events.

A task's work is a generator: it yields quanta (bounded device work, whose results are sent back in),
and events (progress, finished items, failed items). Between two yields it must do very little;
anything heavier belongs in a quantum. A quantum that failed raises a ``DemurError`` at its yield: a
generator that catches it and yields ``ItemFailed`` goes on; otherwise the request fails as a whole.
"""

from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from models.head import Head
from models.predictive import Predictives
from models.schema import Schema
from models.training_labels import TrainingLabels
from services.ledger.contract import Portion, Purpose
from services.runtime.errors import DemurError, InvalidInput

Payload = TypeVar("Payload")
Request = TypeVar("Request", contravariant=True)
Answer = TypeVar("Answer", covariant=True)


class Priority(IntEnum):
    """Service class of a request; the scheduler weighs classes and starves neither."""

    INTERACTIVE = 0
    BULK = 1


class RowExecutor(Protocol):
    """Executor that runs rows [n, F] of one or several requests in one pass."""

    quantum_rows: int
    """Maximum number of rows of one pass."""

    def seconds(self, rows: int) -> float:
        """Return the expected duration of a pass, in seconds."""
        ...

    def __call__(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        """Return the output arrays, whose last axis is the rows."""
        ...


class SharingExecutor(Protocol):
    """Executor that runs quanta of one or several requests in one pass, for content other than rows."""

    quantum_size: int
    """Size of the largest pass, in the executor's own unit of size."""

    def seconds(self, size: int) -> float:
        """Return the expected duration of a pass, in seconds."""
        ...

    def together(self, contents: Sequence[Any]) -> Sequence[Any]:
        """Return a result for each content; quanta of a failed pass run again alone, so contents must not change."""
        ...


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Quantum that may share its pass with rows of other requests; its result is the executor's arrays."""

    executor: RowExecutor
    rows: NDArray[np.float32]

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def most(self) -> int:
        return self.executor.quantum_rows

    @property
    def seconds(self) -> float:
        return self.executor.seconds(self.size)


@dataclass(frozen=True, slots=True)
class Shared:
    """Quantum that may share its pass with those of other requests; its result is the executor's for its content."""

    executor: SharingExecutor
    content: Any
    size: int

    @property
    def most(self) -> int:
        return self.executor.quantum_size

    @property
    def seconds(self) -> float:
        return self.executor.seconds(self.size)


@dataclass(frozen=True, slots=True)
class Step:
    """Quantum that runs alone: a bounded call; its result is what the call returns."""

    call: Callable[[], Any]
    seconds: float


Joinable = RowBatch | Shared
Quantum = Joinable | Step


@dataclass(frozen=True, slots=True)
class Steps:
    """Quanta of one request that may run side by side; the result is the list of their results, in order.

    The first failure raises at the yield; quanta that have not started are dropped, and results of running ones
    ignored.
    """

    steps: tuple[Quantum, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the work, 0 to 1."""

    fraction: float
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """Items ``first`` to ``first + count - 1`` are finished: the statistics of all their heads."""

    first: int
    count: int
    predictives: Predictives
    payload: Any = None
    """Content for the task's ``collapse``, e.g. a mask or a text."""
    shifts: NDArray[np.uint8] | None = None
    """Bits of ``policy.Shift`` found by the work [count], in addition to those of ``Units``."""


@dataclass(frozen=True, slots=True)
class ItemFailed:
    """Failure of one item; the others go on."""

    item: int
    error: DemurError


Event = Progress | Done | ItemFailed
Work = Generator[Quantum | Steps | Event, Any, None]


@dataclass(frozen=True)
class Units(Generic[Payload]):
    """Validated request, expanded to the units to decide: each item has one unit per head."""

    payload: Payload
    count: int
    """Number of items."""
    seconds: float
    """Declared cost: expected device time, in seconds."""
    nbytes: int
    """Declared memory while the work lasts, in bytes."""
    shifts: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """Bits of ``policy.Shift`` found on the input, uint8 [count]; empty if the task has no such test."""


@dataclass(frozen=True, slots=True)
class Call:
    """Options of a call beside its request."""

    purpose: Purpose = "decide"
    priority: Priority = Priority.INTERACTIVE
    deadline: float | None = None
    """Time on the monotonic clock, seconds."""
    defer_above: Mapping[str, float] = field(default_factory=dict)
    """Head name to a stricter threshold of the caller, in the unit of that head's measure."""

    def check_heads(self, heads: Collection[str]) -> None:
        """Check that ``defer_above`` names heads of the model.

        Raises:
            InvalidInput: it names another head.
        """
        for head in self.defer_above:
            if head not in heads:
                raise InvalidInput.about("defer_above", head, code="unknown_head", allowed=", ".join(heads))


@dataclass(frozen=True)
class Description:
    """Description of a service for clients: its inputs, heads and limits."""

    task: str
    model: str
    schema: Schema | None
    heads: tuple[Head, ...]
    max_rows: int
    """Maximum number of rows (or items) of one unary call."""
    trained_lower: tuple[float, ...] = ()
    """Lower ends of the ranges of training inputs, in schema order and units; empty if they are unknown."""
    trained_upper: tuple[float, ...] = ()
    training_labels: Mapping[str, TrainingLabels] = field(default_factory=dict)
    """Labels of some training rows by head; heads without are left out."""

    def trained_range(self, column: int) -> tuple[float, float]:
        """Return the range of the training inputs of a column, in its unit; NaN if it is unknown."""
        if not self.trained_lower:
            return float("nan"), float("nan")
        return self.trained_lower[column], self.trained_upper[column]


class Task(Protocol[Request, Answer]):
    """Task-specific part of request processing. ``expand`` may run in a thread; ``collapse`` must be quick."""

    name: str
    heads: tuple[Head, ...]

    def expand(self, request: Request) -> Units[Any]:
        """Validate a request and return the units to decide.

        Raises:
            InvalidInput, TooLarge: see ``services.runtime.errors``.
        """
        ...

    def run(self, units: Units[Any]) -> Work:
        """Return the device work as quanta and events; every item ends in one ``Done`` or ``ItemFailed``."""
        ...

    def collapse(self, units: Units[Any], portion: Portion) -> Answer:
        """Return the task's answer for a portion of its items."""
        ...


@runtime_checkable
class JoinsRequests(Protocol[Request, Answer]):
    """Task whose small requests can share one pass; see ``services.request.joint_pass``."""

    heads: tuple[Head, ...]

    def expected_seconds(self, request: Request) -> float:
        """Return the expected duration of the pass of a request that is not validated yet, in seconds."""
        ...

    def alike(self, request: Request) -> Hashable:
        """Return what requests must have in common to share a pass."""
        ...

    def join(self, requests: Sequence[Request]) -> tuple[Units[Any] | None, list[tuple[int, int] | DemurError]]:
        """Validate requests; return their units, None if there are none, and the first and end item of each request, or
        the error that refuses it.
        """
        ...

    def batch(self, units: Units[Any]) -> RowBatch:
        """Return the one quantum of these units."""
        ...

    def finished(self, units: Units[Any], arrays: Any) -> Done:
        """Return the event of all units, from the result of their quantum."""
        ...

    def split(self, units: Units[Any], portion: Portion, places: Sequence[tuple[int, int]]) -> Sequence[Answer]:
        """Return the answers of the requests with these first and end items of a portion."""
        ...


@runtime_checkable
class KeepsInputs(Protocol):
    """Task whose inputs can be kept in the ledger, for reviewers."""

    payload_type: str
    """Media type of an item's input."""
    payload_kept: bool
    """True if inputs are kept by default."""

    def payload(self, units: Units[Any], items: NDArray[np.intp]) -> list[bytes]:
        """Return the inputs of some items as bytes."""
        ...


class Observer(Protocol):
    """Counter of decided units; see ``services.request.metrics``."""

    def decided(self, portion: Portion) -> None: ...
