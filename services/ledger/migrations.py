"""Numbered migrations of the schema, each applied once and whole, also by processes that start together."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Engine, func, insert, inspect, select, text

from services.ledger.database import LedgerRefused
from services.ledger.tables import flag, metadata, opinion, schema_version

Migration = Callable[[Connection], None]

_ADVISORY_LOCK = 0x64656D7572  # "demur": one number in all ledgers of a PostgreSQL server


def _first(connection: Connection) -> None:
    metadata.create_all(connection)


def _raw_uncertainty(connection: Connection) -> None:
    _add(connection, "item", "raw_uncertainty", "DOUBLE PRECISION")


def _review(connection: Connection) -> None:
    _add(connection, "item", "revealed", "DOUBLE PRECISION")
    _add(connection, "label", "assisted", "INTEGER NOT NULL DEFAULT 0")
    _add(connection, "label", "seconds", "DOUBLE PRECISION")
    metadata.create_all(connection, tables=[opinion, flag])


def _shown_requests(connection: Connection) -> None:
    _add(connection, "opinion", "shown_epoch", "BIGINT")
    _add(connection, "opinion", "shown_sequence", "BIGINT")
    _add(connection, "opinion", "handed_to", "TEXT NOT NULL DEFAULT ''")


def _add(connection: Connection, table: str, column: str, kind: str) -> None:
    """Add a column to a table that has not got it, which a new ledger has."""
    if column not in {existing["name"] for existing in inspect(connection).get_columns(table)}:
        connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column} {kind}"))


MIGRATIONS: tuple[Migration, ...] = (_first, _raw_uncertainty, _review, _shown_requests)
"""All migrations, the first one first. A released migration is never changed."""


def migrate(engine: Engine, now: Callable[[], float], migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Migrate the schema to the newest version, in one transaction; return the version.

    Raises:
        LedgerRefused: the ledger was written by a newer version of this program.
    """
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":  # SQLite locks the file when the transaction begins
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        applied = version(connection)
        if applied > len(migrations):
            raise LedgerRefused(
                f"the ledger has schema {applied}, this program knows {len(migrations)}: a newer version wrote it; "
                "install that version, or set DEMUR_LEDGER to another ledger"
            )
        for number, migration in enumerate(migrations[applied:], applied + 1):
            migration(connection)
            connection.execute(insert(schema_version).values(version=number, applied=now()))
    return len(migrations)


def version(connection: Connection) -> int:
    """Return the number of the last applied migration; 0 for an empty database."""
    if not inspect(connection).has_table(schema_version.name):
        return 0
    return connection.scalar(select(func.max(schema_version.c.version))) or 0
