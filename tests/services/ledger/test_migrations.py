"""Migrations: once each, whole or not at all, by any number of processes at a time."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, Engine, inspect, text

from services.ledger.database import Database, LedgerRefused
from services.ledger.migrations import MIGRATIONS, migrate, version
from services.ledger.tables import metadata


def now() -> float:
    return 1.0


def later(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE gap ADD COLUMN seen INTEGER"))


def broken(connection: Connection) -> None:
    later(connection)
    raise RuntimeError("the migration failed half-way")


def columns(engine: Engine) -> set[str]:
    return {column["name"] for column in inspect(engine).get_columns("gap")}


def test_an_empty_database_gets_all_tables_and_a_second_start_changes_nothing(ledger_url: str) -> None:
    engine = Database(ledger_url).writing()
    assert migrate(engine, now) == migrate(engine, now) == len(MIGRATIONS)
    assert set(metadata.tables) <= set(inspect(engine).get_table_names())
    engine.dispose()


def test_a_later_migration_is_applied_once(ledger_url: str) -> None:
    engine = Database(ledger_url).writing()
    migrate(engine, now)
    assert "seen" not in columns(engine)
    for _ in range(2):
        assert migrate(engine, now, (*MIGRATIONS, later)) == len(MIGRATIONS) + 1
    assert "seen" in columns(engine)
    engine.dispose()


def test_a_ledger_of_the_first_version_gets_the_measure_of_impossible_predictions(ledger_url: str) -> None:
    engine = Database(ledger_url).writing()
    assert migrate(engine, now, MIGRATIONS[:1]) == 1
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE item DROP COLUMN raw_uncertainty"))
    assert migrate(engine, now) == len(MIGRATIONS)
    assert "raw_uncertainty" in {column["name"] for column in inspect(engine).get_columns("item")}
    engine.dispose()


def test_a_migration_that_fails_leaves_the_schema_as_it_was(ledger_url: str) -> None:
    engine = Database(ledger_url).writing()
    migrate(engine, now)
    with pytest.raises(RuntimeError, match="half-way"):
        migrate(engine, now, (*MIGRATIONS, broken))
    assert "seen" not in columns(engine)
    with engine.connect() as connection:
        assert version(connection) == len(MIGRATIONS)
    engine.dispose()


def test_a_newer_ledger_is_refused_in_words(ledger_url: str) -> None:
    engine = Database(ledger_url).writing()
    migrate(engine, now, (*MIGRATIONS, later))
    with pytest.raises(LedgerRefused, match="a newer version wrote it; install that version"):
        migrate(engine, now)
    engine.dispose()


def test_processes_that_start_together_agree(ledger_url: str) -> None:
    engines = [Database(ledger_url).writing() for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        versions = list(threads.map(lambda engine: migrate(engine, now, (*MIGRATIONS, later)), engines))
    assert versions == [len(MIGRATIONS) + 1] * 4
    for engine in engines:
        engine.dispose()
