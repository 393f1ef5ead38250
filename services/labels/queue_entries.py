"""Entries of the review queue: requests of units, and opinions on units that have a label already.

Both are claimed, extended, released, skipped and labelled alike, so that a reviewer cannot tell them apart.
"""

import secrets
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, exists, literal, select

from services.labels.request_expiry import drawn
from services.labels.request_ids import RequestIds, is_request_id
from services.labels.requests import State
from services.ledger.tables import item, opinion, request_event
from services.ledger.unit_ids import Unit
from services.runtime.errors import NotFound

Queue = Literal["blind", "drafts", "adjudication"]
"""``blind``: nothing of the prediction is handed out; ``drafts``: deferred units with their prediction, to be edited;
``adjudication``: units on which two reviewers differ, with both labels."""
OpinionKind = Literal["second", "known", "adjudication"]
"""``second``: another reviewer labels the unit again; ``known``: the label is known; ``adjudication``: a third reviewer
decides between two."""
WITH_DRAFT = "with its prediction"
"""Reason in the event of a claim from the queue of drafts."""


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
    queue: Queue = "blind"


@dataclass(frozen=True, slots=True)
class Lease:
    """State of a request after a call of its holder."""

    request: str
    state: State
    lease_until: float | None
    """Seconds since 1970; None once it is over."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Request or opinion in a state of the ledger."""

    request: str
    unit: Unit
    head: str
    state: State
    lease: str | None
    revealed: float | None
    """When the prediction was shown to the holder, seconds since 1970."""
    must_complete: bool
    opinion: OpinionKind | None
    """None: the request of the unit itself."""

    @property
    def table(self) -> Table:
        """Table of the entry's row."""
        return item if self.opinion is None else opinion

    @property
    def row(self) -> ColumnElement[bool]:
        """Condition that selects the entry's row."""
        return is_item(self.unit) if self.opinion is None else opinion.c.request == self.request

    def held_by(self, lease: str) -> bool:
        """Return whether a lease is the last one of the entry, in constant time."""
        return bool(lease) and self.lease is not None and secrets.compare_digest(self.lease.encode(), lease.encode())


def find_entry(connection: Connection, ids: RequestIds, request: str, *, lock: bool = True) -> Entry:
    """Return the entry of a request id.

    Raises:
        NotFound: there is no such request, or it was erased.
    """
    unit = ids.unit(request)
    if unit is not None:
        columns = (item.c.head, item.c.state, item.c.lease, item.c.revealed, item.c.erased)
        row = _one(connection, select(*columns, drawn().label("drawn")).where(is_item(unit)), item, lock)
        if row is not None and row.erased is None:
            return Entry(request, unit, row.head, row.state, row.lease, row.revealed, bool(row.drawn), None)
    row = (
        _one(connection, select(opinion).where(opinion.c.request == request), opinion, lock)
        if is_request_id(request)
        else None
    )
    if row is None or row.erased is not None:
        raise NotFound(
            "there is no such request (any more); claim returns the ids of open ones",
            code="no_request",
            field="request",
        )
    return Entry(request, (row.epoch, row.sequence), row.head, row.state, row.lease, row.revealed, False, row.kind)


def is_item(unit: Unit) -> ColumnElement[bool]:
    """Return the condition that selects the item of a unit."""
    return and_(item.c.epoch == unit[0], item.c.sequence == unit[1])


def had_by(table: Table, actor: str, *more: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition for rows of a table whose unit a reviewer has claimed as a request before.

    Args:
        more: further conditions for the event of the claim.
    """
    of_unit = (request_event.c.epoch == table.c.epoch, request_event.c.sequence == table.c.sequence)
    claimed = (request_event.c.state == "claimed", request_event.c.actor == actor)
    return exists(select(literal(1)).where(*of_unit, *claimed, *more))


def seen_with_draft(table: Table, actor: str) -> ColumnElement[bool]:
    """Return the condition for rows of a table whose unit a reviewer has claimed as a draft, thus with its prediction.

    Nobody can forget what they saw: the draft may be given back, and a later label would still not be blind.
    """
    return had_by(table, actor, request_event.c.reason == WITH_DRAFT)  # reasons of other events are a reviewer's words


def _one(connection: Connection, query: Any, table: Table, lock: bool) -> Row[Any] | None:
    return connection.execute(query.with_for_update(of=table) if lock else query).one_or_none()
