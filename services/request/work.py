"""The words that pass between a task and the scheduler.

A task's work is a generator: it yields quanta (bounded device work, whose results are sent back in),
and events (progress, finished items, failed items). Between two yields it must do next to nothing;
anything heavier belongs into a quantum. A quantum that failed raises a ``DemurError`` at its yield: a
generator that catches it and yields ``ItemFailed`` goes on, one that does not fails as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.predictive import Predictives
from services.runtime.errors import DemurError

Payload = TypeVar("Payload")


class Priority(IntEnum):
    """Service class of a request; the scheduler weighs them, it never starves one."""

    INTERACTIVE = 0
    BULK = 1


class RowExecutor(Protocol):
    """Runs rows [n, F] of one or many requests in one pass."""

    quantum_rows: int
    """Most rows of one pass."""

    def seconds(self, rows: int) -> float:
        """Expected duration of a pass."""
        ...

    def __call__(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        """Arrays whose last axis is the rows."""
        ...


class SharingExecutor(Protocol):
    """Runs what one or many requests want in one pass, where that is more than rows."""

    quantum_size: int
    """The largest pass, in whatever sizes are counted in."""

    def seconds(self, size: int) -> float:
        """Expected duration of a pass."""
        ...

    def together(self, contents: Sequence[Any]) -> Sequence[Any]:
        """One result each; quanta that failed together run again alone, so nothing given may be changed."""
        ...


@dataclass(frozen=True, slots=True)
class RowBatch:
    """A quantum that may share its pass with rows of other requests; its result is the executor's arrays."""

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
    """A quantum that may share its pass with those of other requests; its result is the executor's for its content."""

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
    """A quantum of its own: a bounded call; its result is what the call returns."""

    call: Callable[[], Any]
    seconds: float


Joinable = RowBatch | Shared
Quantum = Joinable | Step


@dataclass(frozen=True, slots=True)
class Steps:
    """Quanta of one request that may run side by side; the result is the list of theirs, in their order.

    The first that fails raises at the yield; what has not run yet is dropped, what is running ends unheard.
    """

    steps: tuple[Quantum, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work is, 0 to 1."""

    fraction: float
    stage: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """Items ``first`` to ``first + count - 1`` are finished: the statistics of all their heads."""

    first: int
    count: int
    predictives: Predictives
    payload: Any = None
    """What only the task understands, e.g. a mask or a text; handed to ``collapse``."""
    shifts: NDArray[np.uint8] | None = None
    """Bits of ``policy.Shift`` that the work found [count], beside those of ``Units``."""


@dataclass(frozen=True, slots=True)
class ItemFailed:
    """One item failed; the others go on."""

    item: int
    error: DemurError


Event = Progress | Done | ItemFailed
Work = Generator[Quantum | Steps | Event, Any, None]


@dataclass(frozen=True)
class Units(Generic[Payload]):
    """A validated request, expanded to what is decided: each item has one unit per head."""

    payload: Payload
    count: int
    """Items."""
    seconds: float
    """Declared cost: expected device time."""
    nbytes: int
    """Declared memory while the work lasts."""
    shifts: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """Bits of ``policy.Shift`` found on the input, uint8 [count]; empty where the task has no such test."""
