"""Deliveries as rows of the ledger: written with what they tell of, sent afterwards, however often that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, literal, select, update

from services.labels.bulk import insert_new
from services.labels.identity import Unit, delivery_id
from services.ledger.tables import delivery, item
from services.ledger.tables import label as labels
from services.ledger.writer import Place

Kind = Literal["resolution", "request"]
SENDING_SECONDS = 60.0
"""Who takes a delivery to send it has so long; then another may."""
BACKOFF_SECONDS = (1.0, 3600.0)
ATTEMPTS = 30
"""With the backoff above, a receiver that is down for most of a day still hears of it."""
ASK_PIECE = 500
_STATUS_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is to be sent."""

    id: str
    kind: Kind
    unit: Unit
    url: str
    attempts: int
    """So far."""


def call_back(connection: Connection, place: Place, key: bytes, units: Sequence[Unit], url: str, now: float) -> int:
    """Notes that somebody wants to be told of these units' labels; how many are new. The same again is as once."""
    added = _add(connection, place, key, "resolution", units, url, "waiting", now)
    release_waiting(connection, now)
    return added


def tell_of_requests(connection: Connection, place: Place, key: bytes, url: str, now: float) -> int:
    """Notes deliveries for open requests that nobody was told of; how many."""
    told = exists(
        select(literal(1)).where(
            delivery.c.epoch == item.c.epoch, delivery.c.sequence == item.c.sequence, delivery.c.kind == "request"
        )
    )
    open_ones = and_(item.c.state == "requested", item.c.erased.is_(None), ~told)
    query = select(item.c.epoch, item.c.sequence).where(open_ones).order_by(item.c.priority).limit(ASK_PIECE)
    units = [(epoch, sequence) for epoch, sequence in connection.execute(query)]
    return _add(connection, place, key, "request", units, url, "pending", now)


def release_waiting(connection: Connection, now: float) -> int:
    """Lets go what waits for a label that is there: one that came while its callback was being noted, say."""
    change = update(delivery).where(delivery.c.state == "waiting", _labelled())
    return int(connection.execute(change.values(state="pending", next_time=now)).rowcount)


def is_due(connection: Connection, now: float) -> bool:
    """Whether there is anything to be sent now."""
    due = exists().where(delivery.c.state == "pending", delivery.c.next_time <= now)
    return bool(connection.scalar(select(due)))


def take_due(connection: Connection, count: int, now: float) -> list[Delivery]:
    """Deliveries to be sent now; others do not get them for ``SENDING_SECONDS``."""
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
    """Notes what came of sending: the HTTP status (0 where there was none) and what was met, in words."""
    changes = []
    for one, code, words in sent:
        attempts = one.attempts + 1
        state = _state_after(code, attempts)
        wait = min(BACKOFF_SECONDS[0] * 2.0 ** min(attempts - 1, 30), BACKOFF_SECONDS[1])
        changes.append({"b": one.id, "s": state, "a": attempts, "t": now + wait, "w": words[:_STATUS_CHARACTERS]})
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
    found = sorted(set(units))
    same = place.columns | {"kind": kind, "url": url, "state": state, "attempts": 0, "status": ""}
    same |= {"next_time": now, "time": now}
    columns: dict[str, list[Any]] = {name: [value] * len(found) for name, value in same.items()}
    columns |= {
        "id": [delivery_id(key, kind, unit, url) for unit in found],
        "epoch": [epoch for epoch, _ in found],
        "sequence": [sequence for _, sequence in found],
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
