"""Keeps the policies in force in step with the ledger: what one replica was told holds on all of them within a second.

Without a word from an operator the settings and the artefact's calibration decide; what an operator set goes before
them, for the artefact and numeric profile that it was set for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from models.calibration import Calibration
from services.errors import Conflict, DemurError, InvalidInput, no_ledger
from services.ledger import policies
from services.ledger.policies import Bound, Entry
from services.ledger.writer import Place
from services.logging import get_logger
from services.policy import PolicyBook
from services.policy_changes import PolicyChange, changed

T = TypeVar("T")
POLL_SECONDS = 0.5
SETTINGS = "settings"
"""Author of the policies that settings and calibration amount to."""
_log = get_logger(__name__)


class Transactions(Protocol):
    """What the keeper needs of a ledger's writer."""

    async def run(self, change: Callable[[Connection, Place], T], *, seconds: float | None = None) -> T: ...

    async def read(self, query: Callable[[Connection], T]) -> T: ...


class PolicyKeeper:
    """Reads the log of policies into the book, and writes changes into the log."""

    def __init__(
        self,
        book: PolicyBook,
        transactions: Transactions,
        bound: Bound,
        calibrations: Mapping[str, Calibration | None],
        clock: Callable[[], float],
        audit_floor: float,
    ) -> None:
        """
        Args:
            book: the policies of settings and calibration; later those in force.
            clock: seconds since 1970.
            audit_floor: least rate of stratified audits, as a share of the rate.
        """
        self._book = book
        self._defaults = {policy.head: policy for policy in book.all()}
        self._transactions = transactions
        self._bound = bound
        self._calibrations = calibrations
        self._clock = clock
        self._audit_floor = audit_floor
        self._numbers: dict[str, int] = {}
        """Head to the entry that is in force: a slow read never brings an older one back."""
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Follows the log from now on; tells it, where nobody else has set a policy, what the settings amount to."""
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def set(self, change: PolicyChange) -> Entry:
        """Makes a change, durable and in force here when this returns, on other replicas within two seconds.

        Raises:
            Conflict: the policy in force is not the one that the change was made for.
            InvalidInput: no such head, or see ``policy_changes.changed``.
            LedgerUnavailable: it could not be written; nothing has changed.
        """
        if change.head not in self._book:
            raise self._unknown(change.head)
        now = self._clock()

        def write(connection: Connection, place: Place) -> Entry:
            known = policies.latest(connection, self._bound).get(change.head)
            current = self._defaults[change.head] if known is None else known.policy
            if change.expected and change.expected != current.version:
                raise Conflict(
                    f"the policy of {change.head} is {current.version}, the change was made for {change.expected}; "
                    "look at it, then decide again",
                    code="policy_changed",
                    field="expected",
                    value=change.expected,
                    allowed=current.version,
                )
            policy = changed(current, change, self._calibrations.get(change.head), self._audit_floor)
            return policies.append(
                connection, place, self._bound, policy, time=now, author=change.author, reason=change.reason
            )

        try:
            entry = await self._transactions.run(write)
        except IntegrityError as race:
            raise Conflict(
                f"another replica changed the policy of {change.head} at this moment; look at it, then decide again",
                code="policy_changed",
                field="head",
                value=change.head,
            ) from race
        self._enforce(entry)
        return entry

    async def history(self, head: str, most: int = 100) -> list[Entry]:
        """The last changes of a head, the newest first; heads of former artefacts have some, too.

        Raises:
            InvalidInput: neither this artefact nor one before had such a head.
            LedgerUnavailable: the log cannot be read.
        """
        events = await self._transactions.read(
            lambda connection: policies.history(connection, self._bound.task, head, most)
        )
        if not events and head not in self._book:
            raise self._unknown(head)
        return events

    def _unknown(self, head: str) -> InvalidInput:
        heads = ", ".join(policy.head for policy in self._book.all())
        return InvalidInput(
            f"there is no head {head!r}, this model has {heads}",
            code="unknown_head",
            field="head",
            value=head,
            allowed=heads,
        )

    async def refresh(self) -> None:
        """Puts in force what the log says now.

        Raises:
            LedgerUnavailable: the log cannot be read; what was in force stays.
        """
        known = await self._transactions.read(lambda connection: policies.latest(connection, self._bound))
        for entry in known.values():
            self._enforce(entry)

    async def _follow(self) -> None:
        told = away = False
        while True:
            try:
                if not told:
                    await self._transactions.run(self._tell_defaults)
                    told = True
                await self.refresh()
                away = False
            except IntegrityError:
                pass  # another replica was faster with the same word: read it
            except (DemurError, ValueError) as error:
                if not away:
                    _log.warning("the log of policies cannot be read, those in force stay: %s", error)
                away = True
            await asyncio.sleep(POLL_SECONDS)

    def _tell_defaults(self, connection: Connection, place: Place) -> None:
        """Settings that changed since they were last told count again, unless an operator has spoken since."""
        known = policies.latest(connection, self._bound)
        for head, policy in self._defaults.items():
            entry = known.get(head)
            if entry is not None and (entry.author != SETTINGS or entry.policy.version == policy.version):
                continue
            policies.append(
                connection, place, self._bound, policy, time=self._clock(), author=SETTINGS, reason="at start"
            )

    def _enforce(self, entry: Entry) -> None:
        head = entry.policy.head
        if head not in self._book or entry.number <= self._numbers.get(head, 0):
            return
        self._numbers[head] = entry.number
        if self._book[head].version != entry.policy.version:
            self._book.put(entry.policy)
            fields = {"policy": entry.policy.version, "author": entry.author, "reason": entry.reason}
            _log.info("policy in force", extra={"fields": fields})


def required(keeper: PolicyKeeper | None) -> PolicyKeeper:
    """The keeper of a service that has one.

    Raises:
        LedgerAbsent: the service runs without a ledger.
    """
    if keeper is None:
        raise no_ledger()
    return keeper
