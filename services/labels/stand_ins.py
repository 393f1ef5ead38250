"""Open requests that stand in for claimed opinions wherever requests are counted or listed.

A second opinion and a known unit are no requests of the queue; otherwise a reviewer could see that a claim took nothing
from the queue, and that the unit has a label already. A claimed opinion therefore shows the times and the place in the
list of an open request of its head, which the ledger keeps with it. Until the opinion is labelled or given back, that
request is hidden: nobody can claim it. If it was labelled from elsewhere meanwhile, another one is.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, and_, select, tuple_

from services.labels.request_expiry import SHOWN, drawn, due
from services.ledger.tables import item, opinion
from services.ledger.unit_ids import Unit

_MOST = 1000
"""Most claimed opinions that get a stand-in, and most open requests that are passed over between their places."""


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
    taken, ended = set(unused), dict[str, list[StandIn]]()
    opinions: list[StandIn] = []
    for row in rows:
        unit = (row.epoch, row.sequence)
        stand_in = StandIn(row.head, row.holder, (row.priority, *unit), row.time, row.expires, unit)
        if unit in unused:
            unused.remove(unit)
            opinions.append(stand_in)
        else:
            ended.setdefault(row.head, []).append(stand_in)
    for head, some in ended.items():
        others = _next_open(connection, head, taken, [stand_in.place for stand_in in some])
        opinions += [replace(stand_in, hidden=unit) for stand_in, unit in zip(some, others, strict=True)]
    return opinions


def _next_open(
    connection: Connection, head: str, taken: Set[Unit], starts: Sequence[tuple[float, int, int]]
) -> list[Unit | None]:
    """Return for each place the next request of a head that may be hidden, behind it, else the first; None: none left.

    Args:
        taken: units of requests that are hidden already.
    """
    place = (item.c.priority, item.c.epoch, item.c.sequence)
    query = select(*place).where(item.c.head == head, _may_hide()).order_by(*place)
    query = query.limit(len(taken) + len(starts) + _MOST)
    first = min(starts)
    free: list[tuple[float, int, int]] = []
    for part in (tuple_(*place) >= first, tuple_(*place) < first):
        if len(free) < len(starts):
            rows = [(row.priority, row.epoch, row.sequence) for row in connection.execute(query.where(part))]
            free = sorted(free + [row for row in rows if row[1:] not in taken])
    chosen: list[Unit | None] = []
    for start in starts:
        at = bisect_left(free, start)
        chosen.append(free.pop(at if at < len(free) else 0)[1:] if free else None)
    return chosen


def _may_hide() -> ColumnElement[bool]:
    """Return the condition for open requests, without those of a second-phase draw: these show it."""
    return and_(item.c.state == "requested", item.c.erased.is_(None), ~drawn())


def hidden_units(all_stand_ins: Iterable[StandIn]) -> set[Unit]:
    """Return the units of the open requests that are hidden."""
    return {stand_in.hidden for stand_in in all_stand_ins if stand_in.hidden is not None}
