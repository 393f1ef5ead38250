"""Types for the log of policy changes: entries, and the ledger operations that synchronisation needs."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from services.policy.decision import Policy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """Policy change in the log."""

    number: int
    """Consecutive number per head, from 1."""
    time: float
    """Time, seconds since 1970."""
    author: str
    reason: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Bound:
    """Task, artefact and numeric profile that the policies of a process are bound to."""

    task: str
    model: str
    profile: str
    """Numeric profile, as in ``Policy.profile``."""


class Transactions(Protocol):
    """Transactions of a ledger's writer."""

    async def run(self, change: Callable[[Connection, Any], T], *, seconds: float | None = None) -> T:
        """Run a change, called with the connection and its place in the writer's sequence of flushes."""
        ...

    async def read(self, query: Callable[[Connection], T]) -> T: ...


class PolicyLog(Protocol):
    """Statements on the policy log of a ledger, implemented by ``services.ledger.policies``."""

    def latest(self, connection: Connection, bound: Bound) -> Mapping[str, Entry]: ...

    def under_other_profiles(
        self, connection: Connection, bound: Bound, besides: Collection[str]
    ) -> Mapping[str, Entry]: ...

    def history(self, connection: Connection, task: str, head: str, most: int) -> list[Entry]: ...

    def append(
        self, connection: Connection, place: Any, bound: Bound, policy: Policy, *, time: float, author: str, reason: str
    ) -> Entry: ...
