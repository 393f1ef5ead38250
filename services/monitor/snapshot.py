"""Immutable state of the monitor after a cycle, from which all its outputs are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from models.drift.psi import Shift
from models.head import Head
from models.live.label_requests import RequestFlow
from models.live.reviewer_figures import ReviewerFigures
from models.live.stream import Histogram
from models.live.units import StreamKey
from models.live.window_evaluator import WindowResult

CYCLE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
"""Upper bounds of the histogram of cycles, in seconds."""


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """Latest policy of a head."""

    version: str
    measure: str
    mode: str
    threshold: float
    target_retention: float


@dataclass(frozen=True, slots=True)
class StreamState:
    """State of a head of an artefact, apart from its windows."""

    key: StreamKey
    head: Head
    measure: str
    """Measure by which its units are deferred."""
    requests: Mapping[str, int]
    """Number of requests of the last 30 days by state."""
    oldest_request: float | None
    """Decision time of the oldest open request, seconds since 1970."""
    flow: RequestFlow
    """Requests and labels of the last day."""
    delays: Mapping[str, Histogram]
    """Delays of labels by source, seconds from decision to receipt."""
    explored: Mapping[str, int]
    """Number of explored and replayed units by purpose."""
    explored_shifts: Mapping[str, Shift]
    """Difference of their scores of the last day from in-domain data, by purpose."""


@dataclass(frozen=True, slots=True)
class LedgerState:
    """State of the reading of a ledger."""

    url: str
    """URL without the password."""
    complete_until: float
    """Time before which all decisions are known, or known to be missing; seconds since 1970."""
    last_success: float
    """Time of the last successful reading, seconds since 1970; 0 if none."""
    problem: str
    """Error of the last reading; empty if it succeeded."""
    caught_up: bool
    """True if the whole history was read."""


@dataclass(frozen=True)
class Snapshot:
    """Snapshot of all that the monitor publishes."""

    time: float = 0.0
    """Time of the cycle, seconds since 1970."""
    streams: tuple[StreamState, ...] = ()
    windows: tuple[WindowResult, ...] = ()
    reviewers: tuple[ReviewerFigures, ...] = ()
    """Figures of the reviewers of each head that has any."""
    policies: Mapping[tuple[str, str], PolicyInForce] = field(default_factory=dict)
    """Policies by task and head."""
    labels: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    """Number of labels by task, source and verdict."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """Number of errors by reason."""
    ledgers: tuple[LedgerState, ...] = ()
    cycles: Histogram = field(default_factory=lambda: Histogram.empty(CYCLE_SECONDS))

    @property
    def problem(self) -> str:
        """Reason why the figures are out of date; empty if they are current."""
        if not self.ledgers:
            return "there is no ledger yet"
        for ledger in self.ledgers:
            if ledger.problem:
                return f"{ledger.url}: {ledger.problem}"
        return next((f"{ledger.url}: its history is being read" for ledger in self.ledgers if not ledger.caught_up), "")
