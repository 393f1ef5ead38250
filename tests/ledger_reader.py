"""What readers follow: all rows that were written since the last look, in one state of the ledger.

A cursor is the last flush seen of each writer. Flushes are committed in order, so nothing appears behind a cursor. One
exception: a PostgreSQL server that crashes can forget flushes of the last moments that were not yet on its disk
(durability ``process``); a reader that saw some finds its cursor ahead of the writer and has to begin anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, and_, or_, select

from services.ledger.database import Database
from services.ledger.tables import (
    delivery,
    deployment,
    erasure,
    gap,
    item,
    label,
    policy,
    request_event,
    segment,
    writer,
)

Rows = Sequence[RowMapping]
Cursor = Mapping[int, int]
"""Epoch of each writer to the last flush seen; what is missing was not seen at all."""
_WRITERS_AT_ONCE = 200
_LEFT_OUT = {"secret"}


@dataclass(frozen=True)
class Snapshot:
    """Rows as mappings from column to value, each kind by (writer, flush)."""

    cursor: dict[int, int]
    """To be given for the next snapshot."""
    complete: bool
    """False: there are more rows; ask again at once."""
    rolled_back: frozenset[int]
    """Writers whose flushes the database forgot: what was read of them is not in the ledger; begin anew."""
    writers: Rows
    """All writers, with heartbeat and end; without their secrets."""
    segments: Rows
    items: Rows
    labels: Rows
    request_events: Rows
    gaps: Rows
    policies: Rows
    deployments: Rows
    erasures: Rows
    deliveries: Rows


class Reader:
    """Read-only, for any process; a SQLite ledger is read while its service writes it."""

    def __init__(self, database: Database) -> None:
        self._engine = database.reading()

    def read(self, cursor: Cursor, most_flushes: int = 5000) -> Snapshot:
        """What was written behind the cursor, at most so many flushes of each writer.

        Raises:
            sqlalchemy.exc.DBAPIError: the database is away, or holds no ledger yet.
        """
        with self._engine.begin() as connection:
            return snapshot(connection, cursor, most_flushes)

    def close(self) -> None:
        self._engine.dispose()


def snapshot(connection: Connection, cursor: Cursor, most_flushes: int) -> Snapshot:
    """See ``Reader.read``; the connection's transaction must see one state."""
    columns = [column for column in writer.c if column.name not in _LEFT_OUT]
    writers = connection.execute(select(*columns).order_by(writer.c.started)).mappings().all()
    ranges: dict[int, tuple[int, int]] = {}
    rolled_back = set()
    for row in writers:
        seen = cursor.get(row["epoch"], 0)
        if row["flush"] < seen:
            rolled_back.add(row["epoch"])
        elif row["flush"] > seen:
            ranges[row["epoch"]] = seen, min(row["flush"], seen + most_flushes)
    read = {epoch: end for epoch, (_, end) in ranges.items()}
    return Snapshot(
        cursor=dict(cursor) | read,
        complete=all(read.get(row["epoch"], row["flush"]) == row["flush"] for row in writers),
        rolled_back=frozenset(rolled_back),
        writers=writers,
        segments=_rows(connection, segment, ranges),
        items=_rows(connection, item, ranges),
        labels=_rows(connection, label, ranges),
        request_events=_rows(connection, request_event, ranges),
        gaps=_rows(connection, gap, ranges),
        policies=_rows(connection, policy, ranges),
        deployments=_rows(connection, deployment, ranges),
        erasures=_rows(connection, erasure, ranges),
        deliveries=_rows(connection, delivery, ranges),
    )


def _rows(connection: Connection, table: Table, ranges: Mapping[int, tuple[int, int]]) -> Rows:
    """Rows of some flushes of each writer."""
    rows: list[Any] = []
    places = list(ranges.items())
    for start in range(0, len(places), _WRITERS_AT_ONCE):
        chosen = or_(
            *(
                and_(table.c.writer == epoch, table.c.flush > seen, table.c.flush <= end)
                for epoch, (seen, end) in places[start : start + _WRITERS_AT_ONCE]
            )
        )
        query = select(table).where(chosen).order_by(table.c.writer, table.c.flush)
        rows += connection.execute(query).mappings().all()
    return rows
