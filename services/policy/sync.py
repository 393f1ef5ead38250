"""Keeps the policies in force in step with the ledger: what one replica was told holds on all of them within a second.

Without a word from an operator the settings and the artefact's calibration decide; what an operator set goes before
them, for the artefact and numeric profile that it was set for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from models.calibration import Calibration
from services.policy.changes import REASON_CHARACTERS, PolicyChange, changed
from services.policy.decision import Policy, PolicyBook
from services.policy.log import Bound, Entry, PolicyLog, Transactions
from services.runtime.errors import Conflict, DemurError, InvalidInput, no_ledger, shortened
from services.runtime.logging import get_logger

POLL_SECONDS = 0.5
SETTINGS, QUALIFICATION = AUTOMATIC = "settings", "qualification"
"""Authors of policies that no operator set: what settings and calibration amount to, and what was carried over from
another numeric profile."""
_log = get_logger(__name__)


Carry = Callable[[Policy], tuple[Policy, str]]
"""Turns a policy of another numeric profile into what holds under the one in force, and says what was done to it."""


class PolicyKeeper:
    """Reads the log of policies into the book, and writes changes into the log."""

    def __init__(
        self,
        book: PolicyBook,
        transactions: Transactions,
        log: PolicyLog,
        bound: Bound,
        calibrations: Mapping[str, Calibration | None],
        clock: Callable[[], float],
        audit_floor: float,
        carry: Carry | None = None,
        provisional: Collection[str] = (),
    ) -> None:
        """
        Args:
            book: the policies of settings and calibration; later those in force.
            clock: seconds since 1970.
            audit_floor: least rate of stratified audits, as a share of the rate.
            carry: of policies that operators set under other numeric profiles; None where none is carried over.
            provisional: heads without a calibration that holds on this process's device. All their units are deferred,
                which is nobody else's concern: it is not told to other replicas, nor does it end by what settings and
                calibration amount to on those. An operator's policy is in force here, too.
        """
        self._carry = carry
        self._provisional = frozenset(provisional)
        self._elsewhere: Mapping[str, Entry] = {}
        """Head to what an operator last set under another numeric profile, as last read."""
        self._told = False
        self._book = book
        self._defaults = {policy.head: policy for policy in book.all()}
        self._transactions = transactions
        self._log = log
        self._bound = bound
        self._calibrations = calibrations
        self._clock = clock
        self._audit_floor = audit_floor
        self._numbers: dict[str, int] = {}
        """Head to the entry that is in force: a slow read never brings an older one back."""
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Follow the log from now on; tells it, where nobody else has set a policy, what the settings amount to."""
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    def adopt(self, defaults: Iterable[Policy], carry: Carry | None, provisional: Collection[str] = ()) -> None:
        """Replace what settings and calibration amount to.

        It is in force at once where no operator has set a policy; where one has under another numeric profile, that
        policy is, as it holds here.
        """
        self._carry, self._provisional = carry, frozenset(provisional)
        for default in defaults:
            replaced = self._defaults[default.head]
            self._defaults[default.head] = default
            if self._book[default.head].version == replaced.version:
                self._book.put(self._automatic(default, self._elsewhere)[0])
        self._told = False

    async def set(self, change: PolicyChange) -> Entry:
        """Make a change, durable and in force here when this returns, on other replicas within two seconds.

        Raises:
            Conflict: the policy in force is not the one that the change was made for.
            InvalidInput: no such head, or see ``policy_changes.changed``.
            LedgerUnavailable: it could not be written; nothing has changed.
        """
        if change.head not in self._book:
            raise self._unknown(change.head)
        now = self._clock()

        def write(connection: Connection, place: Any) -> Entry:
            known = self._log.latest(connection, self._bound).get(change.head)
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
            return self._log.append(
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
        """Return the last changes of a head, the newest first; heads of former artefacts have some, too.

        Raises:
            InvalidInput: neither this artefact nor one before had such a head.
            LedgerUnavailable: the log cannot be read.
        """
        events = await self._transactions.read(
            lambda connection: self._log.history(connection, self._bound.task, head, most)
        )
        if not events and head not in self._book:
            raise self._unknown(head)
        return events

    def _unknown(self, head: str) -> InvalidInput:
        heads = ", ".join(policy.head for policy in self._book.all())
        return InvalidInput(
            f"there is no head {shortened(head)!r}, this model has {heads}",
            code="unknown_head",
            field="head",
            value=head,
            allowed=heads,
        )

    async def refresh(self) -> None:
        """Put in force what the log says now.

        Raises:
            LedgerUnavailable: the log cannot be read; what was in force stays.
        """

        def read(connection: Connection) -> tuple[Mapping[str, Entry], Mapping[str, Entry]]:
            elsewhere = self._read_elsewhere(connection) if self._provisional else self._elsewhere
            return self._log.latest(connection, self._bound), elsewhere

        known, self._elsewhere = await self._transactions.read(read)
        for entry in known.values():
            self._enforce(entry)

    async def _follow(self) -> None:
        away = False
        while True:
            try:
                if not self._told:
                    self._told = True  # a verdict that comes meanwhile is told in the next turn
                    try:
                        await self._transactions.run(self._tell_defaults)
                    except BaseException:
                        self._told = False
                        raise
                await self.refresh()
                away = False
            except IntegrityError:
                pass  # another replica was faster with the same word: read it
            except (DemurError, ValueError) as error:
                if not away:
                    _log.warning("the log of policies cannot be read, those in force stay: %s", error)
                away = True
            await asyncio.sleep(POLL_SECONDS)

    def _tell_defaults(self, connection: Connection, place: Any) -> None:
        """Settings that changed since they were last told count again, unless an operator has spoken since."""
        known = self._log.latest(connection, self._bound)
        elsewhere = self._read_elsewhere(connection) if self._carry else {}
        for head, default in self._defaults.items():
            if head in self._provisional:
                continue
            policy, author, reason = self._automatic(default, elsewhere)
            entry = known.get(head)
            if entry is not None and entry.author not in AUTOMATIC:
                continue
            if entry is not None and entry.policy.version == policy.version:
                continue
            self._log.append(
                connection,
                place,
                self._bound,
                policy,
                time=self._clock(),
                author=author,
                reason=reason[:REASON_CHARACTERS],
            )

    def _read_elsewhere(self, connection: Connection) -> Mapping[str, Entry]:
        return self._log.under_other_profiles(connection, self._bound, AUTOMATIC)

    def _automatic(self, default: Policy, elsewhere: Mapping[str, Entry]) -> tuple[Policy, str, str]:
        """Return the policy of a head where no operator has set one under this profile, with its author and reason."""
        entry = elsewhere.get(default.head)
        if self._carry is None or entry is None:
            return default, SETTINGS, "at start"
        policy, done = self._carry(entry.policy)
        return policy, QUALIFICATION, f"policy {entry.policy.version} of {entry.policy.profile}: {done}"

    def _enforce(self, entry: Entry) -> None:
        head = entry.policy.head
        if head not in self._book or entry.number <= self._numbers.get(head, 0):
            return
        if head in self._provisional and entry.author in AUTOMATIC:
            return
        self._numbers[head] = entry.number
        if self._book[head].version != entry.policy.version:
            self._book.put(entry.policy)
            fields = {"policy": entry.policy.version, "author": entry.author, "reason": entry.reason}
            _log.info("policy in force", extra={"fields": fields})


def required(keeper: PolicyKeeper | None) -> PolicyKeeper:
    """Return the keeper of a service that has one.

    Raises:
        LedgerAbsent: the service runs without a ledger.
    """
    if keeper is None:
        raise no_ledger()
    return keeper
