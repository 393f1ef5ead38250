"""Expiry of leases and requests, and draws of the second phase.

Each function changes at most a piece of the requests, so that other changes of the ledger get their turn.
"""

from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, exists, func, literal, literal_column, select, update

from services.labels.request_ids import unit_draw
from services.labels.requests import EXPIRE, LEASE_OVER, SECOND_PHASE, Move
from services.labels.statements import note, of_units
from services.ledger.contract import Place
from services.ledger.tables import OPEN, item, opinion, request_event
from services.ledger.unit_ids import Unit

SERVICE = "service"
"""Actor of changes that the service makes by itself."""
CLAIMED = item.c.state == literal_column("'claimed'")
"""Condition for requests with a lease; without a parameter, because an index is of these rows only."""
PIECE = 1000
"""Most requests that one call changes."""
SHOWN = and_(item.c.epoch == opinion.c.shown_epoch, item.c.sequence == opinion.c.shown_sequence)
"""Condition that joins an opinion with the item whose times and place in the list it shows."""


def end_leases(connection: Connection, place: Place, now: float) -> int:
    """End leases of requests that are over, and all of opinions; return how many of requests.

    The lease itself is kept: until somebody else claims the request, its holder's late answer is accepted.
    """
    over = and_(opinion.c.state == "claimed", opinion.c.lease_until < now)
    connection.execute(update(opinion).where(over).values(state="requested", holder=None, lease_until=None))
    return _pass(connection, place, lease_over(now), LEASE_OVER, "the lease is over", now)


def expire(connection: Connection, place: Place, request_seconds: float, now: float) -> int:
    """Expire requests that were not answered in time, except those that must be completed; return how many.

    Opinions expire with them, but not before the open request whose deadline they show.
    """
    over = due(request_seconds) < now
    old = and_(item.c.state == "requested", over, ~drawn())
    forgotten = and_(opinion.c.state == "requested", opinion.c.time < now - request_seconds, ~shows_open())
    connection.execute(update(opinion).where(forgotten).values(state=EXPIRE.target))
    return _pass(connection, place, old, EXPIRE, "nobody answered in time", now)


def draw_second_phase(connection: Connection, place: Place, key: bytes, share: float, now: float) -> int:
    """Open a random share of the skipped and expired requests again, each drawn once, with its propensity logged.

    A request that is not drawn keeps its state; an event with the propensity records that it was in the draw
    (two-phase sampling of non-response, Hansen & Hurwitz 1946).

    Args:
        key: secret key of the draws.

    Returns:
        How many were in the draw.
    """
    if not share:
        return 0
    waiting = and_(item.c.state.in_(SECOND_PHASE.sources), item.c.erased.is_(None), ~drawn())
    query = select(item.c.epoch, item.c.sequence, item.c.state).where(waiting).limit(PIECE)
    again: list[Unit] = []
    left: dict[str, list[Unit]] = {state: [] for state in SECOND_PHASE.sources}
    rows = connection.execute(for_update(connection, query)).all()
    for epoch, sequence, state in rows:
        chosen = unit_draw(key, "second phase", (epoch, sequence)) < share
        (again if chosen else left[state]).append((epoch, sequence))
    values = {"state": SECOND_PHASE.target, "holder": None, "lease": None, "lease_until": None}
    for condition in of_units(item, again):
        connection.execute(update(item).where(condition).values(values))
    note(connection, place, again, SECOND_PHASE.target, now, SERVICE, "second phase: drawn", share)
    for state, units in left.items():
        note(connection, place, units, state, now, SERVICE, "second phase: not drawn", share)
    return len(rows)


def lease_over(now: float) -> ColumnElement[bool]:
    """Return the condition for requests whose lease is over."""
    return and_(CLAIMED, item.c.lease_until < now)


def due(request_seconds: float) -> ColumnElement[float]:
    """Return the expression for the expiry of a request, seconds since 1970."""
    return func.coalesce(item.c.due, item.c.time + request_seconds)


def drawn() -> ColumnElement[bool]:
    """Return the condition for units that were in a second-phase draw; an open request of one must be completed."""
    return exists(
        select(literal(1)).where(
            request_event.c.epoch == item.c.epoch,
            request_event.c.sequence == item.c.sequence,
            request_event.c.propensity.is_not(None),
        )
    )


def shows_open() -> ColumnElement[bool]:
    """Return the condition for opinions that show an open request, in whose place they come again."""
    return exists(select(literal(1)).where(SHOWN, item.c.state.in_(OPEN), item.c.erased.is_(None), ~drawn()))


def for_update(connection: Connection, query: Any, table: Table = item) -> Any:
    """Lock the rows of a query and skip those that another process works on; SQLite has one writer."""
    return query.with_for_update(skip_locked=True, of=table) if connection.dialect.name == "postgresql" else query


def _pass(
    connection: Connection, place: Place, condition: ColumnElement[bool], move: Move, reason: str, now: float
) -> int:
    """Make a move of the service for at most a piece of the requests."""
    query = select(item.c.epoch, item.c.sequence).where(condition, item.c.erased.is_(None)).limit(PIECE)
    units = [(epoch, sequence) for epoch, sequence in connection.execute(for_update(connection, query))]
    for among in of_units(item, units):
        values = {"state": move.target, "holder": None, "lease_until": None}
        connection.execute(update(item).where(among).values(values))
    note(connection, place, units, move.target, now, SERVICE, reason)
    return len(units)
