"""Types shared by the ledger and the rooms above it: decided portions, the ledger's interface, and its writer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from models.predictive import Predictives
from services.ledger.unit_ids import UnitIds
from services.policy.decision import Verdict
from services.runtime.errors import no_ledger

T = TypeVar("T")
Purpose = Literal["decide", "explore", "replay"]
_FIRST_ITEM = np.zeros(1, np.intp)


@dataclass(frozen=True, slots=True)
class Portion:
    """Consecutive items of a request, predicted and decided."""

    first: int
    count: int
    predictives: Predictives
    verdicts: Mapping[str, Verdict]
    """Decisions by head name."""
    ids: Mapping[str, UnitIds]
    payload: Any
    model: str
    profile: str
    """Name of the numeric profile that computed the scores."""
    purpose: Purpose
    recorded: bool = False

    def as_recorded(self, recorded: bool) -> Portion:
        """Return the portion with whether it is durable."""
        return Portion(  # a third of the time of ``replace``
            self.first,
            self.count,
            self.predictives,
            self.verdicts,
            self.ids,
            self.payload,
            self.model,
            self.profile,
            self.purpose,
            recorded,
        )

    def part(self, start: int, end: int, predictives: Predictives, payload: Any) -> Portion:
        """Return items [start, end) of a portion whose items have one unit per head, as a portion of their own.

        Args:
            predictives: statistics of these items.
            payload: content of these items.
        """
        return Portion(
            0,
            end - start,
            predictives,
            {head: verdict.part(start, end) for head, verdict in self.verdicts.items()},
            {head: UnitIds(ids.epoch, ids.first + start, end - start) for head, ids in self.ids.items()},
            payload,
            self.model,
            self.profile,
            self.purpose,
            self.recorded,
        )


@dataclass(frozen=True, slots=True)
class Payload:
    """Inputs of a portion, packed on demand."""

    kind: str
    """Media type."""
    pack: Callable[[NDArray[np.intp]], list[bytes]]
    """Return the bytes of some of the portion's items."""

    @property
    def item_bytes(self) -> int:
        """Size of the first item."""
        return len(self.pack(_FIRST_ITEM)[0])


@dataclass(frozen=True, slots=True)
class Committed:
    """Result of committing explored units."""

    units: int
    """Number of units that are durably decided now, including those of earlier, equal calls."""
    unknown: tuple[tuple[int, int], ...] = ()
    """(epoch, sequence) of units that were not explored or are no longer held: predict again with purpose decide."""


class Ledger(Protocol):
    """Durable record of decisions, as the pipeline uses it."""

    def record(self, portion: Portion, payload: Payload | None) -> bool | Awaitable[bool]:
        """Record a portion; return whether its decisions are durable, or an awaitable of that if it takes longer."""
        ...

    async def commit(self, ids: Sequence[tuple[int, int]]) -> Committed:
        """Make explored units, given as (epoch, sequence), decided ones; they are durable on return. Idempotent.

        Raises:
            LedgerUnavailable: the ledger cannot be written now; the call may be repeated.
        """
        ...


class NoLedger:
    """Ledger of a service that runs without one: records nothing."""

    def record(self, portion: Portion, payload: Payload | None) -> bool:
        return False

    async def commit(self, ids: Sequence[tuple[int, int]]) -> Committed:
        raise no_ledger()


@dataclass(frozen=True, slots=True)
class Place:
    """Place at which a row is written: the epoch of its writer and the number of the flush."""

    writer: int
    flush: int

    @property
    def columns(self) -> dict[str, int]:
        """The place as columns of a row."""
        return {"writer": self.writer, "flush": self.flush}


Change = Callable[[Connection, Place], T]
"""Part of a transaction; runs in the writer's thread."""


class LedgerWriter(Protocol):
    """Interface through which other modules change and query a ledger; see ``services.ledger.writer.Writer``."""

    async def run(self, change: Change[T], *, seconds: float | None = None) -> T:
        """Run a change within one transaction and return its result once that is committed."""
        ...

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Return the result of a query on one state of the ledger."""
        ...

    async def forget(self) -> None:
        """Empty the database's write-ahead log, which still holds erased content until then."""
        ...
