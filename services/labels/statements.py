"""Statements for many units at once: conditions, bulk inserts, and events of requests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, column, func, literal, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from services.ledger.contract import Place
from services.ledger.tables import request_event
from services.ledger.unit_ids import Unit

_EPOCHS = 8


def insert_new(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> int:
    """Insert the rows that no unique constraint forbids; return how many.

    PostgreSQL gets one array per column, so that the statement does not grow with the rows.

    Args:
        columns: values of the rows by column name, all of one length.
    """
    counted = connection.execution_options(preserve_rowcount=True)
    if not len(next(iter(columns.values()))):
        return 0
    if connection.dialect.name == "sqlite":
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return int(counted.execute(sqlite.insert(table).on_conflict_do_nothing(), rows).rowcount)
    arrays = [literal(list(values), postgresql.ARRAY(table.c[name].type)) for name, values in columns.items()]
    unnested = (
        func.unnest(*arrays).table_valued(*(column(name, table.c[name].type) for name in columns)).render_derived()
    )
    change = postgresql.insert(table).from_select(list(columns), select(unnested)).on_conflict_do_nothing()
    return int(counted.execute(change).rowcount)


def of_units(table: Table, units: Iterable[Unit]) -> list[ColumnElement[bool]]:
    """Return conditions whose union selects the rows of these units; for few writers each is a range or list of one."""
    by_epoch: defaultdict[int, list[int]] = defaultdict(list)
    for epoch, sequence in units:
        by_epoch[epoch].append(sequence)
    if len(by_epoch) > _EPOCHS:
        pairs = [(epoch, sequence) for epoch, sequences in by_epoch.items() for sequence in sequences]
        return [tuple_(table.c.epoch, table.c.sequence).in_(pairs)]
    return [and_(table.c.epoch == epoch, _among(table.c.sequence, sequences)) for epoch, sequences in by_epoch.items()]


def _among(column: Column[Any], sequences: list[int]) -> ColumnElement[bool]:
    low, high = min(sequences), max(sequences)
    if high - low < len(sequences):
        return column.between(low, high)
    return column.in_(sequences)


def note(
    connection: Connection,
    place: Place,
    units: Iterable[Unit],
    state: str,
    now: float,
    actor: str,
    reason: str,
    propensity: float | None = None,
) -> None:
    """Append an event for each unit whose request changed."""
    rows = list(units)
    same = place.columns | {"time": now, "state": state, "actor": actor, "reason": reason, "propensity": propensity}
    columns: dict[str, list[Any]] = {name: [value] * len(rows) for name, value in same.items()}
    columns |= {"epoch": [epoch for epoch, _ in rows], "sequence": [sequence for _, sequence in rows]}
    insert_new(connection, request_event, columns)
