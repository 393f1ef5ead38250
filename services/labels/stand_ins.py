"""Open requests that stand in for claimed opinions wherever requests are counted or listed.

A second opinion and a known unit are no requests of the queue. When one is claimed, it takes the times and the place in
the list of the next open request, as that claim would have; the ledger keeps which, so that they stay the same for its
holder while others claim. An open request, the same one as long as it is open, is hidden in its stead. Otherwise a
reviewer could see that a claim took nothing from the queue, and that the unit has a label already.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from sqlalchemy import Connection, and_, select, tuple_

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

    request: str
    """Id of the opinion."""
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
        select(opinion.c.request, opinion.c.head, opinion.c.holder, item.c.state, item.c.erased, *columns)
        .join_from(opinion, item, SHOWN)
        .where(opinion.c.state == "claimed", opinion.c.kind.in_(("second", "known")), opinion.c.head.in_(heads))
        .order_by(opinion.c.request)
        .limit(_MOST)
    )
    rows = connection.execute(claimed).all()
    taken: set[Unit] = set()
    opinions: list[StandIn] = []
    for row in rows:
        place = (row.priority, row.epoch, row.sequence)
        hidden: Unit | None = (row.epoch, row.sequence)
        if row.state != "requested" or row.erased is not None or hidden in taken:
            hidden = next_open(connection, row.head, taken, place)
        if hidden is not None:
            taken.add(hidden)
        opinions.append(StandIn(row.request, row.head, row.holder, place, row.time, row.expires, hidden))
    return opinions


def next_open(
    connection: Connection, head: str, taken: Set[Unit], start: tuple[float, int, int] | None = None
) -> Unit | None:
    """Return the next open request of a head that is not taken, in the order of the queue; None where none is left.

    Units of a second-phase draw are left out: they show that they must be completed.

    Args:
        start: place from which on it is searched, and then from the beginning; None: from the beginning.
    """
    place = (item.c.priority, item.c.epoch, item.c.sequence)
    query = (
        select(item.c.epoch, item.c.sequence)
        .where(item.c.state == "requested", item.c.head == head, item.c.erased.is_(None), ~drawn())
        .order_by(*place)
    )
    parts = [query] if start is None else [query.where(tuple_(*place) >= start), query.where(tuple_(*place) < start)]
    for part in parts:
        for limit in (_FEW, len(taken) + 1):
            for epoch, sequence in connection.execute(part.limit(limit)):
                if (epoch, sequence) not in taken:
                    return epoch, sequence
    return None


def hidden_units(all_stand_ins: Iterable[StandIn]) -> set[Unit]:
    """Return the units of the open requests that are hidden."""
    return {stand_in.hidden for stand_in in all_stand_ins if stand_in.hidden is not None}
