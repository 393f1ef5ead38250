"""What the monitor knows after one reading, made once and never changed: what all its outputs are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.drift.psi import Shift
from models.head import Head
from services.monitor.judgement import Judgement
from services.monitor.units import Key

DELAY_SECONDS = (1, 10, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400, 14 * 86400, 30 * 86400)
"""Upper bounds of the histogram of label delays."""
CYCLE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
"""Upper bounds of the histogram of cycles."""


@dataclass
class Distribution:
    """Counts by upper bound, and the sum."""

    bounds: tuple[float, ...]
    counts: list[int]
    """Of each bound, and of what is above the last [bounds + 1]."""
    sum: float = 0.0

    @classmethod
    def empty(cls, bounds: tuple[float, ...]) -> Distribution:
        return cls(bounds, [0] * (len(bounds) + 1))

    def copy(self) -> Distribution:
        return Distribution(self.bounds, list(self.counts), self.sum)


@dataclass(frozen=True, slots=True)
class InForce:
    """The policy that a head was given last."""

    version: str
    measure: str
    threshold: float
    mode: str
    target_retention: float


@dataclass(frozen=True, slots=True)
class StreamState:
    """One head of one artefact, as far as windows do not matter."""

    key: Key
    head: Head
    measure: str
    """That its units are deferred by."""
    requests: Mapping[str, int]
    """State to how many requests of the last 30 days are in it."""
    oldest_request: float | None
    """When the oldest request that waits was decided, seconds since 1970."""
    delays: Mapping[str, Distribution]
    """Source to the delays of labels, seconds from decision to receipt."""
    explored: Mapping[str, int]
    """Purpose to units that were no real question."""
    explored_shifts: Mapping[str, Shift]
    """Purpose to how their scores of the last day differ from in-domain data."""


@dataclass(frozen=True, slots=True)
class LedgerState:
    """How a ledger was read."""

    url: str
    """Without the password."""
    complete_until: float
    """All that was decided before is known, or known to be missing; seconds since 1970."""
    last_success: float
    """When it was read last, seconds since 1970; 0: never."""
    problem: str
    """Why the last reading failed; empty where it did not."""
    caught_up: bool
    """Whether its whole history was read."""


@dataclass(frozen=True)
class Published:
    """All that there is to tell."""

    time: float = 0.0
    """Of the cycle, seconds since 1970."""
    streams: tuple[StreamState, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    policies: Mapping[tuple[str, str], InForce] = field(default_factory=dict)
    """By task and head."""
    labels: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """Labels read, by task, source and verdict."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """What went wrong while reading, by a word for why."""
    ledgers: tuple[LedgerState, ...] = ()
    cycles: Distribution = field(default_factory=lambda: Distribution.empty(CYCLE_SECONDS))

    @property
    def problem(self) -> str:
        """Why the figures are not those of now; empty where they are."""
        if not self.ledgers:
            return "there is no ledger yet"
        return next((f"{one.url}: {one.problem}" for one in self.ledgers if one.problem), "") or next(
            (f"{one.url}: its history is being read" for one in self.ledgers if not one.caught_up), ""
        )
