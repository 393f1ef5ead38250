"""Restore a ledger from its backup: prepare it beside its final place, record gaps, then move it there."""

import asyncio
import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from services.ledger.backup import tombstones
from services.ledger.backup.archive import DATABASE, Archive, BadBackup, Manifest
from services.ledger.backup.backup import JOURNALS
from services.ledger.backup.database_copy import Note, alone, fill, refuse_filled
from services.ledger.backup.integrity_check import IntegrityReport, examine
from services.ledger.backup.maintenance_writer import Loss, MaintenanceWriter, close_writers, open_writers
from services.ledger.database import Database, LedgerRefused
from services.ledger.journal import Journal
from services.ledger.migrations import migrate
from services.ledger.recovery import recover
from services.ledger.store import Store
from services.ledger.unit_ids import Unit


@dataclass(frozen=True)
class RestoreOptions:
    """Options of a restore."""

    erased: Sequence[Unit] = ()
    """Units that were erased after the backup, to be erased again."""
    retired: float = -math.inf
    """Units decided before this time lose what the retention period erased, seconds since 1970."""
    gone: frozenset[int] = frozenset()
    """Writers that are known to have decided nothing more, though they did not end (``DEMUR_MONITOR_GONE``)."""
    nothing_lost: bool = False
    """The caller asserts that nothing was decided after the backup, as when a service moves."""


@dataclass(frozen=True)
class Restored:
    """Result of a restore."""

    manifest: Manifest
    report: IntegrityReport
    losses: tuple[Loss, ...]
    journals: int
    """Number of journals that were moved into segments."""
    erased: int
    retired: int


class _Kept:
    """The archive's store for an erasure: a restore deletes no contents of backups."""

    def __init__(self, store: Store) -> None:
        self.get = store.get

    def delete_old(self, references: object) -> None:
        """Do nothing: contents without references are not copied anyway."""


def restore(
    archive: Archive,
    manifest: Manifest,
    database: Database,
    store: Store,
    options: RestoreOptions,
    *,
    clock: Callable[[], float],
    note: Note,
) -> Restored:
    """Restore a ledger where there is none: all of it, or nothing but unreferenced contents.

    Raises:
        LedgerRefused, LedgerHeld: there is a ledger, or the backup is of a newer version of this program.
        BadBackup: it is damaged, or ``nothing_lost`` cannot be true.
        OSError, sqlalchemy.exc.SQLAlchemyError: something cannot be read or written.
    """
    _refuse_present(database)
    place = database.path
    if place is not None:
        database.hold()
    try:
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=place.parent if place else None) as name:
            folder = Path(name)
            archive.fetch(manifest, folder)
            note(0.3, "fetched")
            made = _make(folder, archive, manifest, options, clock)
            note(0.5, "settled")
            _copy_contents(made.report.references, archive, manifest, store, note)
            if place is None:
                fill(folder / DATABASE, database.writing(), lambda share, what: note(0.9 + 0.1 * share, what))
            else:
                _put(folder / DATABASE, place)
    finally:
        if place is not None:
            database.release()
    note(1.0, manifest.name)
    return made


def _refuse_present(database: Database) -> None:
    if database.path is None:
        with database.writing().connect() as connection:
            refuse_filled(connection)
        return
    for path in (
        database.path,
        *(database.path.with_name(f"{database.path.name}-{suffix}") for suffix in ("wal", "shm")),
    ):
        if path.exists() and (path != database.path or path.stat().st_size):
            raise LedgerRefused(
                f"there is {path}, and nothing is overwritten: move the old ledger away with its companions "
                f"({database.path.name}*), or set DEMUR_LEDGER to another file"
            )


def _make(
    folder: Path, archive: Archive, manifest: Manifest, options: RestoreOptions, clock: Callable[[], float]
) -> Restored:
    """Prepare the database."""
    here = Database(f"sqlite:///{folder / DATABASE}")
    engine = here.writing()
    try:
        migrate(engine, clock)
        with engine.connect() as connection, connection.begin():
            before = open_writers(connection)
        journals = _journals(folder, engine, manifest, clock)
        unfinished = [writer for writer in before if writer.epoch not in _complete(manifest) | options.gone]
        if options.nothing_lost and unfinished:
            raise BadBackup(
                f"{len(unfinished)} processes were alive when {manifest.ledger}/{manifest.name} was made, such as "
                f"{unfinished[0].epoch:016x}: what they decided afterwards is not in it. Stop services "
                "before the backup of a ledger that moves, or let the restore write a gap"
            )
        writer, now = MaintenanceWriter(engine, clock, here.forget), clock()
        losses: tuple[Loss, ...] = ()
        if not options.nothing_lost:
            with engine.begin() as connection:
                losses = close_writers(connection, unfinished, since=manifest.begun, now=now, reason=_reason(manifest))
        kept: Store = _Kept(archive.store)  # type: ignore[assignment]
        erased, retired = asyncio.run(tombstones.again(writer, kept, now, options.erased, options.retired))
        with engine.connect() as connection, connection.begin():
            report = examine(connection)
    finally:
        engine.dispose()
    if report.faults:
        raise BadBackup(f"{manifest.ledger}/{manifest.name} is damaged: {'; '.join(report.faults)}")
    alone(folder / DATABASE)
    return Restored(manifest, report, losses, journals, erased, retired)


def _journals(folder: Path, engine: Engine, manifest: Manifest, clock: Callable[[], float]) -> int:
    """Move the frames of journals into segments; return the number of journals."""
    for copied in manifest.journals:
        journal = Journal.take_over(folder / JOURNALS / copied.name)
        if journal is None:
            raise BadBackup(f"the journal {copied.name} of {manifest.ledger}/{manifest.name} cannot be read")
        task = copied.name.rpartition("-")[0]
        try:
            done = False
            while not done:
                with engine.begin() as connection:
                    done = recover(connection, journal, clock, task)
        finally:
            journal.close()
    return len(manifest.journals)


def _complete(manifest: Manifest) -> frozenset[int]:
    """Return writers that were dead and whose journal is in the backup: they decided nothing more."""
    return frozenset(journal.epoch for journal in manifest.journals if journal.whole)


def _copy_contents(references: Sequence[str], archive: Archive, manifest: Manifest, store: Store, note: Note) -> None:
    """Copy contents into the store, each checked by its hash."""
    for done, reference in enumerate(references):
        if reference not in manifest.missing and not store.has(reference):
            try:
                store.put(archive.store.get(reference))
            except (LookupError, ValueError) as error:
                raise BadBackup(f"{manifest.ledger}/{manifest.name}: {error}") from error
        note(0.5 + 0.4 * (done + 1) / len(references), "contents")


def _put(made: Path, place: Path) -> None:
    """Make the file durable, then move it to its place."""
    for path in (made, made.parent):
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.close(file)
    made.replace(place)
    folder = os.open(place.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _reason(manifest: Manifest) -> str:
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(manifest.begun))
    return f"the ledger was restored from its backup of {moment} UTC"
