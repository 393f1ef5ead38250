"""Open requests that stand in for claimed opinions wherever requests are counted or listed.

A second opinion and a known unit are no requests of the queue; otherwise a reviewer could see that a claim took nothing
from the queue, and that the unit has a label already. A claimed opinion therefore shows the times and the place in the
list of an open request of its head, which the ledger keeps with it. Until the opinion is labelled or given back, that
request is hidden: nobody can claim it. If it was labelled from elsewhere meanwhile, another one is.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, select, tuple_

from services.labels.request_expiry import drawn, due
from services.ledger.tables import item, opinion
from services.ledger.unit_ids import Unit

_MOST = 1000
"""Most claimed opinions that get a stand-in."""
_FEW = 8
"""Requests that are looked at first: neighbours are seldom taken."""

SHOWN = and_(item.c.epoch == opinion.c.shown_epoch, item.c.sequence == opinion.c.shown_sequence)
"""Condition that joins an opinion with the item whose times and place in the list it shows."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """Claimed opinion as it looks in counts and lists, and the open request that is hidden for it."""

    head: str
    holder: str
    place: tuple[float, int, int]
    """Priority, epoch and sequence: where the list shows the opinion."""
    time: float
    """Time of the decision that is shown, seconds since 1970."""
    due: float
    """Time of expiry that is shown, seconds since 1970."""
    hidden: Unit | None
    """Unit of the open request; None: none is left."""


def stand_ins(connection: Connection, heads: Sequence[str], request_seconds: float) -> list[StandIn]:
    """Return the stand-ins of all claimed opinions; those that were claimed when no request was open have none.

    Args:
        request_seconds: time after which a request expires.
    """
    columns = (item.c.priority, item.c.epoch, item.c.sequence, item.c.time, due(request_seconds).label("expires"))
    claimed = (
        select(opinion.c.head, opinion.c.holder, _may_hide().label("is_open"), *columns)
        .join_from(opinion, item, SHOWN)
        .where(opinion.c.state == "claimed", opinion.c.kind.in_(("second", "known")), opinion.c.head.in_(heads))
        .order_by(opinion.c.request)
        .limit(_MOST)
    )
    rows = connection.execute(claimed).all()
    unused = {(row.epoch, row.sequence) for row in rows if row.is_open}
    taken = set(unused)
    opinions: list[StandIn] = []
    for row in rows:
        place = (row.priority, row.epoch, row.sequence)
        hidden: Unit | None = (row.epoch, row.sequence)
        if hidden in unused:
            unused.remove(hidden)
        elif (hidden := _next_open(connection, row.head, taken, place)) is not None:
            taken.add(hidden)
        opinions.append(StandIn(row.head, row.holder, place, row.time, row.expires, hidden))
    return opinions


def _next_open(connection: Connection, head: str, taken: Set[Unit], start: tuple[float, int, int]) -> Unit | None:
    """Return the next request of a head that may be hidden, behind a place, else the first one; None: all are taken."""
    place = (item.c.priority, item.c.epoch, item.c.sequence)
    query = select(item.c.epoch, item.c.sequence).where(item.c.head == head, _may_hide()).order_by(*place)
    for part in (query.where(tuple_(*place) >= start), query.where(tuple_(*place) < start)):
        for limit in (_FEW, len(taken) + 1):
            for epoch, sequence in connection.execute(part.limit(limit)):
                if (epoch, sequence) not in taken:
                    return epoch, sequence
    return None


def _may_hide() -> ColumnElement[bool]:
    """Return the condition for open requests, without those of a second-phase draw: these show it."""
    return and_(item.c.state == "requested", item.c.erased.is_(None), ~drawn())


def hidden_units(all_stand_ins: Iterable[StandIn]) -> set[Unit]:
    """Return the units of the open requests that are hidden."""
    return {stand_in.hidden for stand_in in all_stand_ins if stand_in.hidden is not None}
