"""Database of a ledger: its address, connections, the lock of its one writing process, and its failures.

SQLite runs in WAL mode, so that readers of any process never wait for the writer, nor it for them.
"""

import fcntl
import hashlib
import importlib.util
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, Pool, QueuePool, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError

from services.runtime.errors import DemurError, InvalidInput, LedgerUnavailable

Durability = Literal["process", "power"]
"""Failure that acknowledged data survives: ``process`` a killed process (``kill -9``), ``power`` one of the host."""

BUSY_SECONDS = 5.0
"""Time that SQLite waits for another process that locks the file, such as a backup."""
CACHE_KIB = 4096
"""Page cache of a SQLite connection. The operating system caches the file, too, and can reclaim that."""
CONNECT_SECONDS = 5
SILENCE_MILLISECONDS = 30_000
"""A PostgreSQL server that does not acknowledge packets for so long counts as gone."""


class LedgerRefused(RuntimeError):
    """The ledger cannot be used as configured, and no retry helps; the message says what to change."""


class LedgerHeld(Exception):
    """Another process writes this SQLite ledger; the message names the process."""


class Database:
    """Database of one ledger. ``hold`` locks it for writing; readers need no lock."""

    def __init__(self, url: str, durability: Durability = "process") -> None:
        """
        Args:
            url: ``sqlite:///path`` or ``postgresql+psycopg://user@host/name``.

        Raises:
            LedgerRefused: the URL is invalid, of another kind, or its driver is not installed.
        """
        self.url = _checked(url)
        self.durability = durability
        self.dialect: Literal["sqlite", "postgresql"]
        self.dialect = "sqlite" if self.url.get_backend_name() == "sqlite" else "postgresql"
        self._lock: IO[str] | None = None

    @cached_property
    def path(self) -> Path | None:
        """The SQLite file; None for PostgreSQL."""
        return Path(self.url.database or "").absolute() if self.dialect == "sqlite" else None

    @property
    def digest(self) -> bytes:
        """Digest of the location, 16 bytes; users and passwords may change."""
        location = self.path or f"{self.url.host}:{self.url.port or 5432}/{self.url.database}"
        return hashlib.sha256(str(location).encode()).digest()[:16]

    def hold(self) -> None:
        """Make this process the one that writes, where the database is a file. Idempotent.

        Raises:
            LedgerHeld: another process writes it.
            OSError: the directory cannot be created or written.
        """
        if self.path is None or self._lock is not None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_name(f"{self.path.name}.lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise LedgerHeld(
                f"the ledger {self.path} is written by the process {holder}; only one process can write a "
                "SQLite ledger: end that one, set DEMUR_LEDGER to another file, or use PostgreSQL"
            ) from error
        with suppress(OSError):  # a full disk: the lock holds all the same, only without a name
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
        self.path.touch(mode=0o600)  # it holds inputs, and the secrets of draws
        self._lock = lock

    def release(self) -> None:
        """Let another process write."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def forget(self) -> None:
        """Checkpoint and truncate SQLite's write-ahead log, so that no copy of overwritten content is left.

        Where a reader uses the log, or the file cannot be opened, it stays until the next call.
        """
        if self.path is None:
            return
        with suppress(sqlite3.Error), closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def writing(self) -> Engine:
        """Return an engine whose connections write at this durability; a SQLite transaction locks the file at once."""
        engine = self._engine(str(self.path), f"PRAGMA synchronous = {self._synchronous}", "BEGIN IMMEDIATE", NullPool)
        if self.dialect == "postgresql":
            commit = "on" if self.durability == "power" else "off"

            @event.listens_for(engine, "connect")
            def durability(connection: Any, record: Any) -> None:
                with connection.cursor() as cursor:
                    cursor.execute(f"SET synchronous_commit = {commit}")
                connection.commit()

        return engine

    def reading(self) -> Engine:
        """Return an engine whose connections cannot write; each transaction sees one state of the whole ledger."""
        if self.dialect == "sqlite":
            return self._engine(f"file:{quote(str(self.path))}", "PRAGMA query_only = 1", "BEGIN", QueuePool)
        engine = self._engine("", "", "", QueuePool)
        return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    @property
    def _synchronous(self) -> str:
        """Value of the pragma. NORMAL in WAL mode: a commit is in the page cache, which survives a killed process."""
        return "FULL" if self.durability == "power" else "NORMAL"

    def _engine(self, file: str, pragma: str, begin: str, pool: type[Pool]) -> Engine:
        if self.dialect == "postgresql":
            timeouts = {
                "connect_timeout": CONNECT_SECONDS,
                "keepalives_idle": 10,
                "keepalives_interval": 5,
                "keepalives_count": 3,
                "tcp_user_timeout": SILENCE_MILLISECONDS,
                "application_name": "demur",
            }
            return create_engine(self.url, connect_args=timeouts, poolclass=pool, pool_pre_ping=pool is QueuePool)
        query = {"mode": "ro", "uri": "true"} if file.startswith("file:") else {}
        url = URL.create("sqlite", database=file, query=query)
        timeout = {"timeout": BUSY_SECONDS, "check_same_thread": False}
        engine = create_engine(url, connect_args=timeout, poolclass=pool)

        @event.listens_for(engine, "connect")
        def connected(connection: Any, record: Any) -> None:
            connection.isolation_level = None  # the driver begins nothing by itself: savepoints need that
            if begin == "BEGIN IMMEDIATE":
                _write_ahead(connection)
                connection.execute("PRAGMA wal_autocheckpoint = 4000")
                connection.execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute(pragma)

        @event.listens_for(engine, "begin")
        def began(connection: Any) -> None:
            connection.exec_driver_sql(begin)

        return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Put a file into WAL mode; retry while another process does the same, for which SQLite does not wait."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)


def insert_missing(connection: Connection, table: Table) -> Any:
    """Return an INSERT that leaves rows which a unique constraint forbids as they are."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table).on_conflict_do_nothing()


@contextmanager
def driver(connection: Connection, what: str) -> Iterator[Any]:
    """Yield the driver's own connection, for statements that must be fast; its errors become SQLAlchemy's."""
    try:
        yield connection.connection.driver_connection
    except connection.dialect.loaded_dbapi.Error as error:
        raise DBAPIError.instance(what, None, error, connection.dialect.loaded_dbapi.Error) from error


def _checked(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise LedgerRefused(_NEEDED.format(text)) from error
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database and url.database != ":memory:" and url.drivername == "sqlite":
        return url
    if backend != "postgresql":
        raise LedgerRefused(_NEEDED.format(url.render_as_string(hide_password=True)))
    if importlib.util.find_spec("psycopg") is None:
        raise LedgerRefused(
            "DEMUR_LEDGER is a PostgreSQL address, whose driver is not installed: pip install 'demur[postgres]'"
        )
    return url.set(drivername="postgresql+psycopg")


_NEEDED = "DEMUR_LEDGER = {}: must be sqlite:///FILE, postgresql+psycopg://USER:PASSWORD@HOST/NAME, or none"


def unavailable(reason: str) -> LedgerUnavailable:
    """Return the error for a caller whose change cannot be made."""
    return LedgerUnavailable(
        f"the ledger cannot write now ({reason}); nothing was acknowledged, repeat the call",
        code="ledger_unavailable",
        retry_after_seconds=1.0,
    )


def refused(error: BaseException) -> BaseException:
    """Return the error that a caller gets for a failure.

    A value that the database cannot hold, such as a NUL in a text of PostgreSQL, is the caller's error.
    """
    if not isinstance(error, DataError):
        return error
    refusal = InvalidInput(
        f"the ledger cannot keep a value of this call: {error_text(error)}", code="out_of_range", field="body"
    )
    refusal.__cause__ = error
    return refusal


def error_text(error: BaseException) -> str:
    """Describe a failure in one line, without the statement and its values: they do not belong in logs and answers."""
    if isinstance(error, DemurError):
        return error.message
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    primary = getattr(getattr(cause, "diag", None), "message_primary", None)  # PostgreSQL tells values behind it
    return " ".join(str(primary or cause).split()) or type(cause).__name__


def error_kind(error: BaseException) -> str:
    """Return a failure as one of a few words, for counting."""
    text = error_text(error).lower()
    if isinstance(error, LedgerHeld):
        return "held"
    for part, word in _KINDS.items():
        if part in text:
            return word
    return "connection" if isinstance(error, DBAPIError) else "storage"


_KINDS = {
    "full": "storage_full",
    "no space": "storage_full",
    "readonly": "read_only",
    "read-only": "read_only",
    "locked": "locked",
    "timeout": "timeout",
}
