"""Copies of a whole ledger: one state of it as a SQLite file, and such a file as a ledger again."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Integer, func, insert, inspect, select, text

from services.ledger.backup.archive import BadBackup
from services.ledger.database import BUSY_SECONDS, Database, LedgerRefused
from services.ledger.migrations import MIGRATIONS, version
from services.ledger.tables import metadata, schema_version

_PAGES = 4096
"""Pages of a SQLite file between two reports of progress."""
_ROWS = 5_000

Note = Callable[[float, str], None]
"""Observer of progress: the share done, 0 to 1, and the current step."""


def snapshot(database: Database, target: Path, note: Note) -> None:
    """Write one state of a ledger into a new SQLite file. Services go on writing meanwhile.

    Raises:
        BadBackup: there is no ledger, or (PostgreSQL) one of another version of this program.
        sqlite3.Error, sqlalchemy.exc.SQLAlchemyError, OSError: it cannot be read, or the file cannot be written.
    """
    target.touch(mode=0o600)
    if database.path is not None:
        if not database.path.exists():
            raise BadBackup(f"there is no ledger {database.path}")
        _pages(database.path, target, note)
        return
    source = database.reading()
    copy = Database(f"sqlite:///{target}").writing()
    try:
        with source.connect() as reading, reading.begin():
            schema = version(reading)
            if schema != len(MIGRATIONS):
                raise BadBackup(
                    f"the ledger has schema {schema}, this program writes {len(MIGRATIONS)}: back it up with the "
                    "version that runs the service"
                )
            with copy.begin() as writing:
                metadata.create_all(writing)
                copy_rows(reading, writing, note)
    finally:
        source.dispose()
        copy.dispose()
    alone(target)


def _pages(path: Path, target: Path, note: Note) -> None:
    """Run SQLite's own backup in one transaction: writers neither wait nor restart it."""

    def report(_: int, remaining: int, total: int) -> None:
        note(1 - remaining / max(total, 1), "database")

    with (
        closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as source,
        closing(sqlite3.connect(target)) as copy,
    ):
        source.isolation_level = None
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        source.backup(copy, pages=_PAGES, progress=report)
    alone(target)


def alone(path: Path) -> None:
    """Make a SQLite file self-contained, without a write-ahead log."""
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    if mode != "delete":
        raise sqlite3.OperationalError(f"{path} is used by another process")


def copy_rows(source: Connection, target: Connection, note: Note) -> None:
    """Copy all rows into an empty ledger of the same schema."""
    tables = [table for table in metadata.sorted_tables if version(target) == 0 or table is not schema_version]
    for done, table in enumerate(tables):
        rows = source.execution_options(stream_results=True, yield_per=_ROWS).execute(select(table)).mappings()
        for part in rows.partitions(_ROWS):
            target.execute(insert(table), [dict(row) for row in part])
        note((done + 1) / len(tables), table.name)


def fill(path: Path, engine: Engine, note: Note) -> None:
    """Copy a SQLite ledger into a PostgreSQL database in one transaction.

    Raises:
        LedgerRefused: there is a ledger already.
    """
    source = Database(f"sqlite:///{path}").reading()
    try:
        with source.connect() as reading, reading.begin(), engine.begin() as writing:
            refuse_filled(writing)
            metadata.create_all(writing)
            copy_rows(reading, writing, note)
            for table in metadata.sorted_tables:  # sequences continue after the copied rows
                if (own := table.autoincrement_column) is not None and isinstance(own.type, Integer):
                    last = writing.scalar(select(func.max(own))) or 0
                    name = f"pg_get_serial_sequence('{table.name}', '{own.name}')"
                    writing.execute(text(f"SELECT setval({name}, :next, false)"), {"next": last + 1})
    finally:
        source.dispose()


def refuse_filled(connection: Connection) -> None:
    """Check that a database has no ledger.

    Raises:
        LedgerRefused: it has tables of a ledger.
    """
    held = set(inspect(connection).get_table_names()) & set(metadata.tables)
    if held:
        raise LedgerRefused(
            f"the database has tables of a ledger already ({', '.join(sorted(held)[:3])} …), and nothing is "
            "overwritten: set DEMUR_LEDGER to an empty database"
        )
