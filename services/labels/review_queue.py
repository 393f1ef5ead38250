"""Review queue of label requests: reviewers claim some for a time, and answer, skip or release them.

The queue is blind. A claim hands out the input and the meaning of its label; the order is random, and nothing here
depends on the decision, the score, the prediction, or on whether a unit was deferred or audited.
"""

import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, func, select, update

from services.labels.intake import KEY_REUSED, Outcome, Taken, take
from services.labels.label_validation import LabelRules, SubmittedLabel
from services.labels.request_expiry import SERVICE, drawn, due, end_leases, for_update
from services.labels.request_ids import RequestIds
from services.labels.requests import (
    CLAIM,
    EXTEND,
    LABEL,
    STATES,
    SUBMIT,
    Move,
    State,
    next_state,
)
from services.labels.statements import note, of_units
from services.ledger.contract import Place
from services.ledger.tables import UNASKED, item
from services.ledger.tables import label as labels
from services.ledger.unit_ids import Unit
from services.runtime.errors import Conflict, NotFound


@dataclass(frozen=True, slots=True)
class ClaimedRequest:
    """Request as it is handed out."""

    request: str
    """Opaque id."""
    lease: str
    """Token that every call about the claimed request must carry."""
    lease_until: float
    """Seconds since 1970."""
    due: float | None
    """Time at which the request expires, seconds since 1970; None: never."""
    must_complete: bool
    """True: it represents others that were skipped or expired."""
    head: str
    payload: bytes | None
    payload_ref: str | None
    payload_type: str | None


@dataclass(frozen=True, slots=True)
class Lease:
    """State of a request after a call of its holder."""

    request: str
    state: State
    lease_until: float | None
    """Seconds since 1970; None once it is over."""


@dataclass(frozen=True)
class ReviewQueue:
    """Review queue of a ledger; its methods are changes to be run by a ``LedgerWriter``."""

    ids: RequestIds
    request_seconds: float
    """Time after which an unanswered request expires."""

    def claim(
        self,
        connection: Connection,
        place: Place,
        *,
        count: int,
        heads: tuple[str, ...],
        actor: str,
        seconds: float,
        now: float,
    ) -> list[ClaimedRequest]:
        """Claim up to ``count`` open requests for so many seconds; two callers never get the same one."""
        end_leases(connection, place, now)
        claimed: list[Unit] = []
        while len(claimed) < count and (units := self._open(connection, count - len(claimed), heads, now)):
            answered = self._answered_before(connection, place, units, now)
            mine = [unit for unit in units if unit not in answered]
            _lend(connection, mine, actor, now + seconds)
            note(connection, place, mine, CLAIM.target, now, actor, "")
            claimed += mine
        return self._handed_out(connection, claimed)

    def extend(self, connection: Connection, request: str, lease: str, *, seconds: float, now: float) -> Lease:
        """Extend a lease to so many seconds from now; no event, since nothing changes for others."""
        row = self._find(connection, request)
        next_state(row.state, EXTEND, holds=_holds(row, lease))
        connection.execute(update(item).where(_is((row.epoch, row.sequence))).values(lease_until=now + seconds))
        return Lease(request, "claimed", now + seconds)

    def end(
        self,
        connection: Connection,
        place: Place,
        request: str,
        lease: str,
        move: Move,
        *,
        actor: str,
        reason: str,
        now: float,
    ) -> Lease:
        """Release, skip or give up a claimed request.

        Raises:
            NotFound, Conflict, InvalidInput: see ``next_state``; or there is no such request.
        """
        row = self._find(connection, request)
        state = next_state(row.state, move, holds=_holds(row, lease), reason=reason, must_complete=bool(row.drawn))
        values = {"state": state, "holder": None, "lease": None, "lease_until": None}
        connection.execute(update(item).where(_is((row.epoch, row.sequence))).values(values))
        note(connection, place, [(row.epoch, row.sequence)], state, now, actor, reason)
        return Lease(request, state, None)

    def submit(
        self,
        connection: Connection,
        place: Place,
        request: str,
        lease: str,
        value: object,
        *,
        rules: LabelRules,
        observed: float | None,
        refs: dict[int, str],
        actor: str,
        now: float,
    ) -> Outcome:
        """Label a claimed request; label and state in one transaction. Idempotent: the same label again is a duplicate.

        Raises:
            NotFound, Conflict: there is no such request, the lease is lost, or it has given another label already.
            InvalidInput: the value is not a label of its head.
        """
        row = self._find(connection, request)
        unit = (row.epoch, row.sequence)
        if row.state != LABEL.target or not _holds(row, lease):  # else it may be the same label again
            next_state(row.state, SUBMIT, holds=_holds(row, lease))
        label = SubmittedLabel(unit, value, "requested", row.head, f"lease:{lease}", 1, observed)
        rows, rejected = rules.check([label], now)
        taken = take(connection, place, rows, actor=actor, received=now, refs=refs) if rows else Taken({}, rejected)
        for rejection in taken.rejected:
            if rejection.error.code == KEY_REUSED:  # its message names the unit, which reviewers must not learn
                raise Conflict(
                    "this lease has labelled the request already, with another value; the first one stands",
                    code="already_labelled",
                    field="value",
                )
            rejection.error.index = -1
            raise rejection.error
        return taken.outcomes[0]

    def about(self, connection: Connection, request: str) -> tuple[Unit, str]:
        """Return the unit and the head of a request.

        Raises:
            NotFound: there is no such request.
        """
        row = self._find(connection, request, lock=False)
        return (row.epoch, row.sequence), row.head

    def counts(self, connection: Connection) -> dict[str, dict[State, int]]:
        """Return the number of requests by head and state, without erased ones."""
        query = select(item.c.head, item.c.state, func.count()).where(item.c.erased.is_(None), item.c.state != UNASKED)
        by_head: dict[str, dict[State, int]] = {}
        for head, state, count in connection.execute(query.group_by(item.c.head, item.c.state)):
            by_head.setdefault(head, dict.fromkeys(STATES, 0))[state] = count
        return by_head

    def _open(self, connection: Connection, count: int, heads: tuple[str, ...], now: float) -> list[Unit]:
        """Return open requests in the order of the queue, locked where other processes claim, too."""
        open_ones = (item.c.state == "requested", item.c.erased.is_(None), (due(self.request_seconds) >= now) | drawn())
        columns = (item.c.priority, item.c.epoch, item.c.sequence)
        candidates: list[tuple[float, int, int]] = []
        for head in heads:  # each in the order of its index
            query = select(*columns).where(item.c.head == head, *open_ones).order_by(item.c.priority).limit(count)
            candidates += [tuple(row) for row in connection.execute(for_update(connection, query))]
        return [(epoch, sequence) for _, epoch, sequence in sorted(candidates)[:count]]

    def _answered_before(self, connection: Connection, place: Place, units: list[Unit], now: float) -> set[Unit]:
        """Mark and return units whose label came before their request was claimed."""
        labelled: set[Unit] = set()
        for condition in of_units(labels, units):
            query = select(labels.c.epoch, labels.c.sequence).where(condition, labels.c.source == "requested")
            labelled |= {(epoch, sequence) for epoch, sequence in connection.execute(query)}
        for condition in of_units(item, labelled):
            connection.execute(update(item).where(condition).values(state=LABEL.target))
        note(connection, place, sorted(labelled), LABEL.target, now, SERVICE, "the label was there")
        return labelled

    def _handed_out(self, connection: Connection, units: list[Unit]) -> list[ClaimedRequest]:
        """Return claimed requests by priority, which is random, too."""
        columns = (item.c.head, item.c.lease, item.c.lease_until, item.c.due, item.c.time, drawn().label("drawn"))
        payload = (item.c.payload, item.c.payload_ref, item.c.payload_type)
        by_due: list[tuple[float, ClaimedRequest]] = []
        for condition in of_units(item, units):
            query = select(item.c.epoch, item.c.sequence, item.c.priority, *columns, *payload).where(condition)
            by_due += [
                (
                    row.priority,
                    ClaimedRequest(
                        request=self.ids.text((row.epoch, row.sequence)),
                        lease=row.lease,
                        lease_until=row.lease_until,
                        due=None if row.drawn else row.due if row.due is not None else row.time + self.request_seconds,
                        must_complete=bool(row.drawn),
                        head=row.head,
                        payload=row.payload,
                        payload_ref=row.payload_ref,
                        payload_type=row.payload_type,
                    ),
                )
                for row in connection.execute(query)
            ]
        return [request for _, request in sorted(by_due, key=lambda pair: pair[0])]

    def _find(self, connection: Connection, request: str, *, lock: bool = True) -> Row[Any]:
        unit = self.ids.unit(request)
        columns = (item.c.epoch, item.c.sequence, item.c.head, item.c.state, item.c.lease, item.c.erased)
        row = None
        if unit is not None:
            query = select(*columns, drawn().label("drawn")).where(_is(unit))
            row = connection.execute(query.with_for_update(of=item) if lock else query).one_or_none()
        if row is None or row.erased is not None:
            raise NotFound(
                "there is no such request (any more); claim returns the ids of open ones",
                code="no_request",
                field="request",
            )
        return row


def _lend(connection: Connection, units: list[Unit], holder: str, until: float) -> None:
    values = {"state": CLAIM.target, "holder": holder, "lease": bindparam("token"), "lease_until": until}
    change = update(item).where(item.c.epoch == bindparam("e"), item.c.sequence == bindparam("s")).values(values)
    leases = [{"e": epoch, "s": sequence, "token": secrets.token_hex(16)} for epoch, sequence in units]
    if leases:
        connection.execute(change, leases)


def _is(unit: Unit) -> ColumnElement[bool]:
    return and_(item.c.epoch == unit[0], item.c.sequence == unit[1])


def _holds(row: Row[Any], lease: str) -> bool:
    return bool(lease) and row.lease is not None and secrets.compare_digest(row.lease.encode(), lease.encode())
