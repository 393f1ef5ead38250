"""Synchronisation of the policies in force with the ledger: a change on one replica holds on all within a second.

By default the settings and the artefact's calibration decide; a policy set by an operator has precedence, for the
artefact and numeric profile that it was set for.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from models.calibration import Calibration
from services.policy.changes import REASON_CHARACTERS, PolicyChange, changed
from services.policy.decision import Policy, PolicyBook
from services.policy.log import Bound, Entry, PolicyLog, Transactions
from services.runtime.errors import Conflict, DemurError, InvalidInput, no_ledger
from services.runtime.logging import get_logger

POLL_SECONDS = 0.5
ALONE_SECONDS = 10.0
"""Between two looks for changes of a ledger that this process alone writes."""
SETTINGS, QUALIFICATION = AUTOMATIC = "settings", "qualification"
"""Authors of automatic policies: from settings and calibration, and carried over from another numeric profile."""
_log = get_logger(__name__)


Carry = Callable[[Policy], tuple[Policy, str]]
"""Function that carries a policy of another numeric profile over to the one in force; returns it with a description."""


class PolicyKeeper:
    """Policy synchronisation: reads the log of policies into the book, and writes changes into the log."""

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
        version: Callable[[], int | None] = lambda: None,
    ) -> None:
        """Initialise from the policies of settings and calibration.

        Args:
            book: policies of settings and calibration; later those in force.
            clock: seconds since 1970.
            audit_floor: least rate of stratified audits, as a share of the rate.
            carry: carries over policies that operators set under other numeric profiles; None to carry none over.
            provisional: heads without a valid calibration on this process's device. All their units are deferred. This
                is local: it is not written to the log, and automatic entries of other replicas do not end it. An
                operator's policy is in force here, too.
            version: number that grows with every change of the ledger; None where other processes change it, too. The
                log is not read again while it stays the same.
        """
        self._carry = carry
        self._provisional = frozenset(provisional)
        self._elsewhere: Mapping[str, Entry] = {}
        """Head to the operator's last policy under another numeric profile, as last read."""
        self._defaults_recorded = False
        self._version = version
        self._book = book
        self._defaults = {policy.head: policy for policy in book.all()}
        self._transactions = transactions
        self._log = log
        self._bound = bound
        self._calibrations = calibrations
        self._clock = clock
        self._audit_floor = audit_floor
        self._numbers: dict[str, int] = {}
        """Head to the number of the entry in force, so that a slow read never restores an older one."""
        self._following: asyncio.Task[None] | None = None
        self._adopted = asyncio.Event()

    async def start(self) -> None:
        """Start to follow the log; writes the automatic policies to it if no operator has set one."""
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    def adopt(self, defaults: Iterable[Policy], carry: Carry | None, provisional: Collection[str] = ()) -> None:
        """Replace the policies of settings and calibration.

        They are in force at once unless an operator has set a policy; a policy that an operator set under another
        numeric profile is carried over.
        """
        self._carry, self._provisional = carry, frozenset(provisional)
        for default in defaults:
            replaced = self._defaults[default.head]
            self._defaults[default.head] = default
            if self._book[default.head].version == replaced.version:
                self._book.put(self._automatic(default, self._elsewhere)[0])
        self._defaults_recorded = False
        self._adopted.set()

    async def set(self, change: PolicyChange) -> Entry:
        """Make a change; on return it is durable and in force here, and within two seconds on other replicas.

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
                raise Conflict.about(
                    "expected",
                    change.expected,
                    f"must be {current.version}, the version of the policy of {change.head}",
                    code="policy_changed",
                    allowed=current.version,
                    advice="look at it, then decide again",
                )
            policy = changed(current, change, self._calibrations.get(change.head), self._audit_floor)
            return self._log.append(
                connection, place, self._bound, policy, time=now, author=change.author, reason=change.reason
            )

        try:
            entry = await self._transactions.run(write)
        except IntegrityError as race:
            raise Conflict.about(
                "head",
                change.head,
                "another replica changed its policy at this moment",
                code="policy_changed",
                advice="look at it, then decide again",
            ) from race
        self._enforce(entry)
        return entry

    async def history(self, head: str, most: int = 100) -> list[Entry]:
        """Return the last changes of a head, the newest first; heads of former artefacts are included.

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
        return InvalidInput.about("head", head, code="unknown_head", allowed=heads)

    async def refresh(self) -> None:
        """Put the policies of the log in force.

        Raises:
            LedgerUnavailable: the log cannot be read; the policies in force stay.
        """

        def read(connection: Connection) -> tuple[Mapping[str, Entry], Mapping[str, Entry]]:
            elsewhere = self._read_elsewhere(connection) if self._provisional else self._elsewhere
            return self._log.latest(connection, self._bound), elsewhere

        known, self._elsewhere = await self._transactions.read(read)
        for entry in known.values():
            self._enforce(entry)

    async def _follow(self) -> None:
        away, read = False, None
        while True:
            self._adopted.clear()
            version = self._version()
            try:
                if not self._defaults_recorded:
                    self._defaults_recorded = True  # a verdict meanwhile is written in the next turn
                    try:
                        await self._transactions.run(self._record_defaults)
                    except BaseException:
                        self._defaults_recorded = False
                        raise
                if version is None or version != read:
                    await self.refresh()
                away, read = False, version
            except IntegrityError:
                pass  # another replica wrote the same entry first: read it
            except (DemurError, ValueError) as error:
                if not away:
                    _log.warning("the log of policies cannot be read, those in force stay: %s", error)
                away = True
            with suppress(TimeoutError):  # not wait_for, which loses a cancellation that comes with the event
                async with asyncio.timeout(POLL_SECONDS if away or version is None else ALONE_SECONDS):
                    await self._adopted.wait()

    def _record_defaults(self, connection: Connection, place: Any) -> None:
        """Write automatic policies that changed since they were last written, unless an operator has set one."""
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
        """Return the automatic policy of a head, used if no operator has set one here, with its author and reason."""
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
    """Return the policy keeper of the service.

    Raises:
        LedgerAbsent: the service runs without a ledger.
    """
    if keeper is None:
        raise no_ledger()
    return keeper
