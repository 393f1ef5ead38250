"""Neighbours in time of a unit: rows of the same head that were decided just before it and just after it.

They are as blind as the queue:

- A neighbour is a unit with a label request, thus a deferral or an audit; the answer does not tell which. Units
  that are kept for a census only are none: their number would tell how many of a time were answered.
- The answer has values of numeric columns and a distance in time, and no id. The query reads no column that
  distinguishes a deferral from an audit, neither of the unit nor of its neighbours.
- Where second opinions or known units are mixed into the queue, nothing is told of any request: their units are older
  than the times that they show, and their neighbours are not the requests that came just before in the queue.

When requests were decided is no secret: the list of waiting requests has the times of all. Distances have two digits,
enough for a small plot.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, or_, select

from models.schema import Schema
from services.labels.label_types import ROW_TYPE, ContentStore, row_values
from services.labels.queue_entries import is_item
from services.ledger.tables import UNASKED, item
from services.ledger.unit_ids import MOST_SEQUENCE, Unit
from services.runtime.logging import get_logger

_log = get_logger(__name__)
MOST_A_SIDE = 12
"""Most neighbours before a unit, and most after it."""
_MOST_SCANNED = 2000
"""Items on each side among which neighbours are searched: others may be of other heads, or of a census."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Row of another unit."""

    seconds: float
    """Time from the unit to this one, s, with two significant digits; negative before it."""
    values: tuple[float | None, ...]
    """Values by column, in the column's unit; None: missing."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Rows around a unit, both parts in the order of time; empty where there are none or inputs are not kept."""

    names: tuple[str, ...] = ()
    """Numeric columns, in the order of ``Neighbour.values``."""
    before: tuple[Neighbour, ...] = ()
    after: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptNeighbour:
    """Neighbour as the ledger keeps it."""

    seconds: float
    """Time from the unit to this one, s."""
    payload: bytes | None
    payload_ref: str | None


@dataclass(frozen=True, slots=True)
class KeptNeighbours:
    """Neighbours as the ledger keeps them, both parts in the order of time."""

    before: tuple[KeptNeighbour, ...]
    after: tuple[KeptNeighbour, ...]


def kept_neighbours(connection: Connection, unit: Unit, head: str) -> KeptNeighbours:
    """Return the rows around a unit that were decided by the same process.

    Items are read by their primary key, (epoch, sequence): the only index in the order of time. ``item_feed`` has the
    priority, which is a time with a hundredth of a second of noise. An epoch is random, so that another process is no
    neighbour in this order: after a restart there are fewer before, and of replicas each has neighbours of its own.
    """
    time = connection.execute(select(item.c.time).where(is_item(unit))).scalar_one()
    epoch, sequence, other = item.c.epoch, item.c.sequence, item.alias()
    query = (
        select(item.c.time, item.c.payload, item.c.payload_ref)
        .where(epoch == unit[0], item.c.head == head, item.c.state != UNASKED, item.c.erased.is_(None))
        .where(item.c.payload_type == ROW_TYPE, or_(item.c.payload.is_not(None), item.c.payload_ref.is_not(None)))
        .limit(MOST_A_SIDE)
    )
    scanned = select(other.c.sequence).where(other.c.epoch == unit[0]).offset(_MOST_SCANNED).limit(1)
    first = scanned.where(other.c.sequence < unit[1]).order_by(other.c.sequence.desc()).scalar_subquery()
    last = scanned.where(other.c.sequence > unit[1]).order_by(other.c.sequence).scalar_subquery()
    before = query.where(sequence < unit[1], sequence >= func.coalesce(first, 0), item.c.time <= time)
    after = query.where(sequence > unit[1], sequence <= func.coalesce(last, MOST_SEQUENCE), item.c.time >= time)
    sides = (before.order_by(sequence.desc()), after.order_by(sequence))
    nearest, following = (
        [KeptNeighbour(row.time - time, row.payload, row.payload_ref) for row in connection.execute(side)]
        for side in sides
    )
    return KeptNeighbours(tuple(reversed(nearest)), tuple(following))


def readable_neighbours(kept: KeptNeighbours, schema: Schema, store: ContentStore) -> Neighbours:
    """Return neighbours with their values; those whose content cannot be read are left out. It blocks."""
    numeric = [place for place, feature in enumerate(schema.features) if not feature.categories]
    names = tuple(schema.features[place].name for place in numeric)

    def readable(side: Iterable[KeptNeighbour]) -> tuple[Neighbour, ...]:
        neighbours = []
        for neighbour in side:
            content = _content(neighbour, store)
            if content is not None and len(content) == 4 * len(schema):
                values = row_values(np.frombuffer(content, "<f4")[numeric])
                neighbours.append(Neighbour(float(f"{neighbour.seconds:.2g}"), tuple(values)))
        return tuple(neighbours)

    return Neighbours(names, readable(kept.before), readable(kept.after))


def _content(neighbour: KeptNeighbour, store: ContentStore) -> bytes | None:
    if neighbour.payload is not None or neighbour.payload_ref is None:
        return neighbour.payload
    try:
        return store.get(neighbour.payload_ref)
    except (LookupError, ValueError, OSError) as error:
        _log.warning("a neighbour's input cannot be read: %s", error)
        return None
