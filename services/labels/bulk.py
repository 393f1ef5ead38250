"""Many rows in one statement: those that are there already are left as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, column, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite


def insert_new(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> int:
    """Inserts the rows that no unique constraint forbids; how many.

    PostgreSQL gets one array a column: a thousand rows cost it no more words than one.

    Args:
        columns: name to the values of the rows, all of one length.
    """
    counted = connection.execution_options(preserve_rowcount=True)
    if not len(next(iter(columns.values()))):
        return 0
    if connection.dialect.name == "sqlite":
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return int(counted.execute(sqlite.insert(table).on_conflict_do_nothing(), rows).rowcount)
    arrays = [literal(list(values), postgresql.ARRAY(table.c[name].type)) for name, values in columns.items()]
    given = func.unnest(*arrays).table_valued(*(column(name, table.c[name].type) for name in columns)).render_derived()
    change = postgresql.insert(table).from_select(list(columns), select(given)).on_conflict_do_nothing()
    return int(counted.execute(change).rowcount)
