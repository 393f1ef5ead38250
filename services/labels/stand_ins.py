"""Open requests that stand in for claimed opinions wherever requests are counted or listed.

A second opinion and a known unit are no requests of the queue. Once one is claimed, an open request takes its place in
counts and lists, as claimed by its holder and with its own time of expiry; otherwise a reviewer could see that a claim
took nothing from the queue, and that the unit has a label already.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from services.labels.request_expiry import due
from services.ledger.tables import item, opinion
from services.ledger.unit_ids import Unit

_MOST = 1000
"""Most claimed opinions that get a stand-in."""
_FEW = 8
"""Requests that are looked at first: neighbours are seldom taken."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """Open request in the place of a claimed opinion."""

    request: str
    """Id of the opinion."""
    head: str
    holder: str
    due: float
    """Time at which the open request expires, seconds since 1970."""


def stand_ins(connection: Connection, heads: Sequence[str], request_seconds: float) -> dict[Unit, StandIn]:
    """Return the stand-ins of all claimed opinions by the unit of the open request; opinions without one are left out.

    Args:
        request_seconds: time after which a request expires.
    """
    claimed = (
        select(opinion.c.request, opinion.c.head, opinion.c.holder)
        .where(opinion.c.state == "claimed", opinion.c.kind.in_(("second", "known")), opinion.c.head.in_(heads))
        .order_by(opinion.c.request)
        .limit(_MOST)
    )
    taken: dict[Unit, StandIn] = {}
    for row in connection.execute(claimed).all():
        free = _free(connection, row, taken.keys(), request_seconds)
        if free is not None:
            taken[free.epoch, free.sequence] = StandIn(row.request, row.head, row.holder, free.expires)
    return taken


def _free(connection: Connection, claimed: Any, taken: Set[Unit], request_seconds: float) -> Row[Any] | None:
    """Return the first open request behind a place that the opinion's id names, in the order of the queue."""
    start = int(claimed.request[:8], 16) / 2**32
    query = (
        select(item.c.epoch, item.c.sequence, due(request_seconds).label("expires"))
        .where(item.c.state == "requested", item.c.head == claimed.head, item.c.erased.is_(None))
        .order_by(item.c.priority)
    )
    ahead, behind = query.where(item.c.priority >= start), query.where(item.c.priority < start)
    for some, limit in ((ahead, _FEW), (ahead, len(taken) + 1), (behind, len(taken) + 1)):
        for row in connection.execute(some.limit(limit)):
            if (row.epoch, row.sequence) not in taken:
                return row
    return None
