"""List of the requests that wait or are claimed, in the order of the queue; as blind as the queue itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, tuple_

from services.labels.queue_entries import is_item
from services.labels.request_expiry import drawn, due
from services.labels.request_ids import RequestIds
from services.labels.requests import State
from services.labels.stand_ins import StandIn, stand_ins
from services.ledger.tables import OPEN, item
from services.runtime.errors import InvalidInput

MOST_LISTED = 1000


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """Request that waits for a label."""

    request: str
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
    request_seconds: float

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
        if after:
            query = query.where(tuple_(*place) > tuple_(*self._place(connection, after)))
        rows = connection.execute(query.order_by(*place).limit(limit + 1)).all()
        hidden = stand_ins(connection, heads, self.request_seconds)
        requests = tuple(self._listed(row, hidden.get((row.epoch, row.sequence)), actor) for row in rows[:limit])
        last = None if len(rows) <= limit else self.ids.text((rows[limit - 1].epoch, rows[limit - 1].sequence))
        return WaitingPage(requests, last)

    def _listed(self, row: Any, stand_in: StandIn | None, actor: str) -> WaitingRequest:
        state: State = row.state if stand_in is None else "claimed"
        holder = row.holder if stand_in is None else stand_in.holder
        return WaitingRequest(
            request=self.ids.text((row.epoch, row.sequence)) if stand_in is None else stand_in.request,
            head=row.head,
            time=row.time,
            due=None if row.drawn else row.expires,
            state=state,
            mine=state == "claimed" and holder == actor,
            must_complete=bool(row.drawn),
        )

    def _place(self, connection: Connection, cursor: str) -> tuple[float, int, int]:
        unit = self.ids.unit(cursor)
        row = None
        if unit is not None:
            row = connection.execute(select(item.c.priority).where(is_item(unit))).one_or_none()
        if unit is None or row is None:
            raise InvalidInput.about(
                "after", cursor, "must be the `next` of an earlier call", code="bad_cursor", allowed="a cursor"
            )
        return row.priority, *unit
