"""Where a ledger may be, and what its connections may do."""

import importlib.util
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from services.ledger.database import Database, LedgerRefused
from services.ledger.migrations import migrate


@pytest.mark.parametrize("url", ["ledger.db", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "postgres://h/n"])
def test_what_is_no_ledger_is_refused(url: str) -> None:
    with pytest.raises(LedgerRefused, match="must be sqlite:///FILE"):
        Database(url)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(LedgerRefused) as refused:
        Database("mysql://me:secret@host/name")
    assert "secret" not in str(refused.value)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LedgerRefused, match=r"pip install 'demur\[postgres\]'"):
        Database("postgresql://me@host/name")


def test_readers_cannot_write(ledger_url: str) -> None:
    database = Database(ledger_url)
    writing, reading = database.writing(), database.reading()
    migrate(writing, lambda: 0.0)
    with pytest.raises(DBAPIError), reading.begin() as connection:
        connection.execute(text("DELETE FROM gap"))
    writing.dispose()
    reading.dispose()


@pytest.mark.parametrize(("durability", "sqlite", "postgresql"), [("process", 1, "off"), ("power", 2, "on")])
def test_durability_is_set_on_the_connection(ledger_url: str, durability, sqlite: int, postgresql: str) -> None:
    engine = Database(ledger_url, durability).writing()
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            assert connection.scalar(text("PRAGMA synchronous")) == sqlite
            assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        else:
            assert connection.scalar(text("SHOW synchronous_commit")) == postgresql
    engine.dispose()


def test_a_path_may_hold_any_characters(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ein %41 #raum?.db'}".replace("?", "%3F"))
    writing = database.writing()
    migrate(writing, lambda: 0.0)
    reading = database.reading()
    with reading.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM gap")) == 0
    writing.dispose()
    reading.dispose()
