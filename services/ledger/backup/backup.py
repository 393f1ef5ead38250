"""Back up a ledger while its services run: journals, one state of the database, referenced contents, manifest."""

import fcntl
import os
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
    JournalCopy,
    Manifest,
    described,
    name_of,
)
from services.ledger.backup.database_copy import Note, snapshot
from services.ledger.backup.integrity_check import IntegrityReport, examine
from services.ledger.database import Database
from services.ledger.journal import HEAD_BYTES, SUFFIX, unpacked
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
    """Make a backup. Only contents that no earlier backup has are copied.

    Args:
        journals: directory of the journals of this machine's services.
        ledger: its name in the archive.
        clock: seconds since 1970.

    Raises:
        BadBackup: there is no ledger, or it is damaged: its backup must not replace a good one.
        OSError, sqlite3.Error, sqlalchemy.exc.SQLAlchemyError: something cannot be read or written.
    """
    begun = clock()
    with archive.scratch() as folder:
        copied = copy_journals(journals, database.digest, folder / JOURNALS)
        snapshot(database, folder / DATABASE, lambda share, what: note(0.7 * share, what))
        report, cursors = _read(folder / DATABASE)
        if report.faults:
            raise BadBackup(f"the ledger is damaged, no backup was made: {'; '.join(report.faults)}")
        missing = _contents(report.references, store, archive, note)
        (folder / REFERENCES).write_text("".join(f"{reference}\n" for reference in report.references))
        names = (DATABASE, REFERENCES, *(f"{JOURNALS}/{journal.name}" for journal in copied))
        manifest = Manifest(
            format=FORMAT,
            ledger=ledger,
            name=name_of(begun),
            program=__version__,
            schema=report.schema,
            begun=begun,
            finished=clock(),
            cursors=cursors,
            rows=report.rows,
            units=report.units,
            journals=copied,
            files=tuple(described(folder, name) for name in names),
            contents=len(report.references),
            missing=missing,
        )
        archive.put(folder, manifest)
    note(1.0, manifest.name)
    return manifest


def name_of_ledger(database: Database) -> str:
    """Return the name of a ledger in an archive: its file without the suffix, or its database."""
    return database.path.stem if database.path is not None else str(database.url.database)


def _read(path: Path) -> tuple[IntegrityReport, tuple[Cursor, ...]]:
    engine = Database(f"sqlite:///{path}").reading()
    try:
        with engine.connect() as connection, connection.begin():
            report = examine(connection)
            return report, _cursors(connection) if not report.faults else ()
    finally:
        engine.dispose()


def _cursors(connection: Connection) -> tuple[Cursor, ...]:
    rows = connection.execute(select(writer).order_by(writer.c.started, writer.c.epoch))
    return tuple(Cursor(f"{row.epoch:016x}", row.task, row.flush, row.heartbeat, row.ended is not None) for row in rows)


def _contents(references: tuple[str, ...], store: Store, archive: Archive, note: Note) -> tuple[str, ...]:
    """Copy contents that the archive does not have; return those that the store does not have either."""
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


def copy_journals(directory: Path, ledger: bytes, target: Path) -> tuple[JournalCopy, ...]:
    """Copy the journals of one ledger; call it before its database is copied.

    Then each frame of a copy is in the copied database, or is to be moved there: frames that a journal drops in between
    are in segments by then.

    Args:
        ledger: digest of the ledger, see ``Database.digest``.

    Raises:
        OSError: one cannot be read.
    """
    target.mkdir(parents=True, exist_ok=True)
    copies = []
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # all of it is in segments
            continue
        try:
            whole = _held(file)
            content = _content(file)
            if (head := unpacked(content)) is None or head[0].ledger != ledger:
                continue
            copy = os.open(target / path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(copy, "wb") as writing:  # noqa: PTH123 - of a descriptor
                writing.write(content)
            copies.append(JournalCopy(path.name, head[0].epoch, whole))
        finally:
            os.close(file)
    return tuple(copies)


def _held(file: int) -> bool:
    """Lock a journal whose process is dead, so that nobody takes it over; return False where it lives."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _content(file: int) -> bytes:
    """Return the whole file as of one time: emptying it changes its head."""
    while True:
        head = os.pread(file, HEAD_BYTES, 0)
        content, size = bytearray(head), os.fstat(file).st_size
        while len(content) < size and (part := os.pread(file, size - len(content), len(content))):
            content += part
        if os.pread(file, HEAD_BYTES, 0) == head:
            return bytes(content)
