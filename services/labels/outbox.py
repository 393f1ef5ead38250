"""Outbox of webhook deliveries: rows that are written with their cause and sent afterwards, with retries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, literal, select, update

from services.labels.request_ids import delivery_id
from services.labels.statements import insert_new
from services.ledger.contract import Place
from services.ledger.tables import delivery, item
from services.ledger.tables import label as labels
from services.ledger.unit_ids import Unit

Kind = Literal["resolution", "request"]
SENDING_SECONDS = 60.0
"""Time that a process has to send a delivery; then another may take it."""
BACKOFF_SECONDS = (1.0, 3600.0)
ATTEMPTS = 30
"""With the backoff above, a receiver that is down for most of a day still gets it."""
ASK_PIECE = 500
_STATUS_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Delivery:
    """Delivery to be sent."""

    id: str
    kind: Kind
    unit: Unit
    url: str
    attempts: int
    """Number of attempts so far."""


def call_back(connection: Connection, place: Place, key: bytes, units: Sequence[Unit], url: str, now: float) -> int:
    """Register a callback for the labels of units; return how many are new. Idempotent."""
    added = _add(connection, place, key, "resolution", units, url, "waiting", now)
    release_waiting(connection, now)
    return added


def tell_of_requests(connection: Connection, place: Place, key: bytes, url: str, now: float) -> int:
    """Add deliveries for open requests that were not announced yet; return how many."""
    announced = exists(
        select(literal(1)).where(
            delivery.c.epoch == item.c.epoch, delivery.c.sequence == item.c.sequence, delivery.c.kind == "request"
        )
    )
    open_ones = and_(item.c.state == "requested", item.c.erased.is_(None), ~announced)
    query = select(item.c.epoch, item.c.sequence).where(open_ones).order_by(item.c.priority).limit(ASK_PIECE)
    units = [(epoch, sequence) for epoch, sequence in connection.execute(query)]
    return _add(connection, place, key, "request", units, url, "pending", now)


def release_waiting(connection: Connection, now: float) -> int:
    """Release deliveries whose label has arrived, for example while the callback was being registered."""
    change = update(delivery).where(delivery.c.state == "waiting", _labelled())
    return int(connection.execute(change.values(state="pending", next_time=now)).rowcount)


def is_due(connection: Connection, now: float) -> bool:
    """Return True if there is anything to send now."""
    due = exists().where(delivery.c.state == "pending", delivery.c.next_time <= now)
    return bool(connection.scalar(select(due)))


def take_due(connection: Connection, count: int, now: float) -> list[Delivery]:
    """Return deliveries to be sent now; other processes do not get them for ``SENDING_SECONDS``."""
    query = (
        select(delivery)
        .where(delivery.c.state == "pending", delivery.c.next_time <= now)
        .order_by(delivery.c.next_time)
        .limit(count)
    )
    if connection.dialect.name == "postgresql":
        query = query.with_for_update(skip_locked=True)
    rows = connection.execute(query).all()
    if rows:
        change = update(delivery).where(delivery.c.id.in_([row.id for row in rows]))
        connection.execute(change.values(next_time=now + SENDING_SECONDS))
    return [Delivery(row.id, row.kind, (row.epoch, row.sequence), row.url, row.attempts) for row in rows]


def settle(connection: Connection, sent: Sequence[tuple[Delivery, int, str]], now: float) -> None:
    """Record the results of sending: the HTTP status (0 where there was none) and a message."""
    changes = []
    for delivered, code, message in sent:
        attempts = delivered.attempts + 1
        state = _state_after(code, attempts)
        wait = min(BACKOFF_SECONDS[0] * 2.0 ** min(attempts - 1, 30), BACKOFF_SECONDS[1])
        changes.append(
            {"b": delivered.id, "s": state, "a": attempts, "t": now + wait, "w": message[:_STATUS_CHARACTERS]}
        )
    values: dict[str, Any] = {
        "state": bindparam("s"),
        "attempts": bindparam("a"),
        "next_time": bindparam("t"),
        "status": bindparam("w"),
    }
    if changes:
        connection.execute(update(delivery).where(delivery.c.id == bindparam("b")).values(values), changes)


def _state_after(code: int, attempts: int) -> str:
    if 200 <= code < 300:
        return "delivered"
    return "failed" if code == 410 or attempts >= ATTEMPTS else "pending"  # 410: the receiver wants no more


def _add(
    connection: Connection,
    place: Place,
    key: bytes,
    kind: Kind,
    units: Sequence[Unit],
    url: str,
    state: str,
    now: float,
) -> int:
    ordered = sorted(set(units))
    same = place.columns | {"kind": kind, "url": url, "state": state, "attempts": 0, "status": ""}
    same |= {"next_time": now, "time": now}
    columns: dict[str, list[Any]] = {name: [value] * len(ordered) for name, value in same.items()}
    columns |= {
        "id": [delivery_id(key, kind, unit, url) for unit in ordered],
        "epoch": [epoch for epoch, _ in ordered],
        "sequence": [sequence for _, sequence in ordered],
    }
    return insert_new(connection, delivery, columns)


def _labelled() -> ColumnElement[bool]:
    return exists(
        select(literal(1)).where(
            labels.c.epoch == delivery.c.epoch,
            labels.c.sequence == delivery.c.sequence,
            labels.c.source.in_(("requested", "census")),
        )
    )
