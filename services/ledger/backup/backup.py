"""A backup of one ledger, made while its services serve: journals first, then one state of the database, then the
contents that its rows name, then the manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, select

from services import __version__
from services.ledger.backup.archive import (
    DATABASE,
    FORMAT,
    REFERENCES,
    Archive,
    BadBackup,
    Cursor,
    Manifest,
    described,
    name_of,
)
from services.ledger.backup.copying import Note, snapshot
from services.ledger.backup.journals import copy_journals
from services.ledger.backup.soundness import Examined, examine
from services.ledger.database import Database
from services.ledger.store import Store
from services.ledger.tables import writer

JOURNALS = "journals"


def back_up(
    database: Database,
    store: Store,
    journals: Path,
    archive: Archive,
    *,
    ledger: str,
    clock: Callable[[], float],
    note: Note,
) -> Manifest:
    """Makes one backup. Only contents that no earlier backup has are copied.

    Args:
        journals: the directory where this machine's services keep them.
        ledger: its name in the archive.
        clock: seconds since 1970.

    Raises:
        BadBackup: there is no ledger, or it is damaged: a backup of it is not to take the place of a good one.
        OSError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError: something cannot be read or written.
    """
    begun = clock()
    with archive.scratch() as folder:
        copied = copy_journals(journals, database.digest, folder / JOURNALS)
        snapshot(database, folder / DATABASE, lambda share, what: note(0.7 * share, what))
        found, cursors = _read(folder / DATABASE)
        if found.faults:
            raise BadBackup(f"the ledger is not whole, no backup was made: {'; '.join(found.faults)}")
        missing = _contents(found.references, store, archive, note)
        (folder / REFERENCES).write_text("".join(f"{one}\n" for one in found.references))
        names = (DATABASE, REFERENCES, *(f"{JOURNALS}/{one.name}" for one in copied))
        manifest = Manifest(
            format=FORMAT,
            ledger=ledger,
            name=name_of(begun),
            program=__version__,
            schema=found.schema,
            begun=begun,
            finished=clock(),
            cursors=cursors,
            rows=found.rows,
            units=found.units,
            journals=copied,
            files=tuple(described(folder, name) for name in names),
            contents=len(found.references),
            missing=missing,
        )
        archive.put(folder, manifest)
    note(1.0, manifest.name)
    return manifest


def name_of_ledger(database: Database) -> str:
    """What a ledger is called in an archive: its file without the ending, or its database."""
    return database.path.stem if database.path is not None else str(database.url.database)


def _read(path: Path) -> tuple[Examined, tuple[Cursor, ...]]:
    engine = Database(f"sqlite:///{path}").reading()
    try:
        with engine.connect() as connection, connection.begin():
            found = examine(connection)
            return found, _cursors(connection) if not found.faults else ()
    finally:
        engine.dispose()


def _cursors(connection: Connection) -> tuple[Cursor, ...]:
    rows = connection.execute(select(writer).order_by(writer.c.started, writer.c.epoch))
    return tuple(Cursor(f"{row.epoch:016x}", row.task, row.flush, row.heartbeat, row.ended is not None) for row in rows)


def _contents(references: tuple[str, ...], store: Store, archive: Archive, note: Note) -> tuple[str, ...]:
    """Copies what the archive does not have; what the store does not have either."""
    missing = []
    for done, reference in enumerate(references):
        if not archive.store.has(reference):
            try:
                archive.store.put(store.get(reference))
            except LookupError:  # erased since the database was copied, or lost before
                missing.append(reference)
            except ValueError as error:
                raise BadBackup(f"no backup was made: {error}") from error
        note(0.7 + 0.3 * (done + 1) / len(references), "contents")
    return tuple(missing)
