"""List of the requests that wait or are claimed, in the order of the queue; as blind as the queue itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, tuple_

from services.labels.queue_entries import is_item, seen_with_draft
from services.labels.request_expiry import drawn, due
from services.labels.request_ids import RequestIds
from services.labels.requests import CLAIM, State
from services.labels.stand_ins import StandIn, hidden_units, stand_ins
from services.ledger.tables import OPEN, item
from services.runtime.errors import InvalidInput

MOST_LISTED = 1000


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """Request that waits for a label."""

    request: str
    """Id that names it in a claim; the claimed request has another one."""
    head: str
    time: float
    """Time of the decision, seconds since 1970."""
    due: float | None
    """Time at which it expires, seconds since 1970; None: never."""
    state: State
    """``requested``, or ``claimed`` by somebody."""
    mine: bool
    """True: the caller has claimed it."""
    must_complete: bool
    """True: it represents others that were skipped or expired."""


@dataclass(frozen=True, slots=True)
class WaitingPage:
    """Part of the list."""

    requests: tuple[WaitingRequest, ...]
    next: str | None
    """Cursor of the next part; None at the end."""


@dataclass(frozen=True)
class WaitingRequests:
    """Query of the requests that wait."""

    ids: RequestIds
    """Ids of the list: an opinion has that of the request that it shows, whose place it takes."""
    request_seconds: float
    has_drafts: bool

    def page(
        self, connection: Connection, heads: Sequence[str], actor: str, now: float, limit: int, after: str
    ) -> WaitingPage:
        """Return up to ``limit`` requests behind a cursor.

        Raises:
            InvalidInput: the cursor is not one that an earlier call returned.
        """
        place = (item.c.priority, item.c.epoch, item.c.sequence)
        expires = due(self.request_seconds)
        columns = (*place, item.c.head, item.c.time, item.c.state, item.c.holder, expires.label("expires"))
        query = (
            select(*columns, drawn().label("drawn"))
            .where(item.c.state.in_(OPEN), item.c.head.in_(heads), item.c.erased.is_(None))
            .where((expires >= now) | drawn())
        )
        if self.has_drafts:
            query = query.where(~seen_with_draft(item, actor) | (item.c.state == CLAIM.target))
        behind = self._place(connection, after) if after else None
        if behind is not None:
            query = query.where(tuple_(*place) > tuple_(*behind))
        opinions = stand_ins(connection, heads, self.request_seconds)
        hidden = hidden_units(opinions)
        rows = connection.execute(query.order_by(*place).limit(limit + 1 + len(hidden))).all()
        listed = [
            ((row.priority, row.epoch, row.sequence), self._request(row, actor))
            for row in rows
            if (row.epoch, row.sequence) not in hidden
        ]
        listed += [
            (shown.place, self._opinion(shown, actor))
            for shown in opinions
            if shown.due >= now and (behind is None or shown.place > behind)
        ]
        listed.sort(key=lambda pair: pair[0])
        requests = tuple(request for _, request in listed[:limit])
        return WaitingPage(requests, requests[-1].request if len(listed) > limit else None)

    def _request(self, row: Any, actor: str) -> WaitingRequest:
        return WaitingRequest(
            request=self.ids.text((row.epoch, row.sequence)),
            head=row.head,
            time=row.time,
            due=None if row.drawn else row.expires,
            state=row.state,
            mine=row.state == CLAIM.target and row.holder == actor,
            must_complete=bool(row.drawn),
        )

    def _opinion(self, stand_in: StandIn, actor: str) -> WaitingRequest:
        _, epoch, sequence = stand_in.place
        return WaitingRequest(
            request=self.ids.text((epoch, sequence)),
            head=stand_in.head,
            time=stand_in.time,
            due=stand_in.due,
            state="claimed",
            mine=stand_in.holder == actor,
            must_complete=False,
        )

    def _place(self, connection: Connection, cursor: str) -> tuple[float, int, int]:
        columns = (item.c.priority, item.c.epoch, item.c.sequence)
        unit = self.ids.unit(cursor)
        row = None if unit is None else connection.execute(select(*columns).where(is_item(unit))).one_or_none()
        if row is None:
            raise InvalidInput.about(
                "after", cursor, "must be the `next` of an earlier call", code="bad_cursor", allowed="a cursor"
            )
        return row.priority, row.epoch, row.sequence
