"""A ledger from its backup: made whole beside its place, told of what it lacks, and only then put there."""

from __future__ import annotations

import asyncio
import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine

from services.labels.identity import Unit
from services.ledger.backup import tombstones
from services.ledger.backup.archive import DATABASE, Archive, BadBackup, Manifest
from services.ledger.backup.backup import JOURNALS
from services.ledger.backup.copying import Note, alone, fill, refuse_filled
from services.ledger.backup.hand import Hand, Loss, open_writers, settle
from services.ledger.backup.soundness import Examined, examine
from services.ledger.database import Database, LedgerRefused
from services.ledger.journal import Journal
from services.ledger.migrations import migrate
from services.ledger.recovery import recover
from services.ledger.store import Store


@dataclass(frozen=True)
class Wishes:
    """How a ledger is restored."""

    erased: Sequence[Unit] = ()
    """Units that were erased after the backup, to be erased again."""
    retired: float = -math.inf
    """Units decided before this time lose what the retention period took, seconds since 1970."""
    gone: frozenset[int] = frozenset()
    """Writers that are known to have decided nothing more, though they never said so (``DEMUR_MONITOR_GONE``)."""
    nothing_lost: bool = False
    """The caller's word that nobody decided anything after the backup: a service that moves."""


@dataclass(frozen=True)
class Restored:
    """What there is now."""

    manifest: Manifest
    found: Examined
    losses: tuple[Loss, ...]
    journals: int
    """Whose answers came from journals."""
    erased: int
    retired: int


class _Kept:
    """The archive's store as an erasure sees it: what backups hold is not deleted by a restore."""

    def __init__(self, store: Store) -> None:
        self.get = store.get

    def delete_old(self, references: object) -> None:
        """Contents that are named no more are simply not brought along."""


def restore(
    archive: Archive,
    manifest: Manifest,
    database: Database,
    store: Store,
    wishes: Wishes,
    *,
    clock: Callable[[], float],
    note: Note,
) -> Restored:
    """Makes a ledger of a backup where none is; all of it, or nothing but contents that nobody names.

    Raises:
        LedgerRefused, LedgerHeld: there is a ledger, or the backup is of a newer version of this program.
        BadBackup: it is damaged, or the wish that nothing was lost cannot be true.
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
            made = _make(folder, archive, manifest, wishes, clock)
            note(0.5, "settled")
            _bring(made.found.references, archive, manifest, store, note)
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
    for path in (database.path, *(database.path.with_name(f"{database.path.name}-{one}") for one in ("wal", "shm"))):
        if path.exists() and (path != database.path or path.stat().st_size):
            raise LedgerRefused(
                f"there is {path}, and nothing is written over: move the old ledger away with its companions "
                f"({database.path.name}*), or give DEMUR_LEDGER another file"
            )


def _make(folder: Path, archive: Archive, manifest: Manifest, wishes: Wishes, clock: Callable[[], float]) -> Restored:
    """The database as it will be."""
    here = Database(f"sqlite:///{folder / DATABASE}")
    engine = here.writing()
    try:
        migrate(engine, clock)
        with engine.connect() as connection, connection.begin():
            before = open_writers(connection)
        journals = _journals(folder, engine, manifest, clock)
        unfinished = [one for one in before if one.epoch not in _complete(manifest) | wishes.gone]
        if wishes.nothing_lost and unfinished:
            raise BadBackup(
                f"{len(unfinished)} processes were alive when {manifest.ledger}/{manifest.name} was made, such as "
                f"{unfinished[0].epoch:016x}: what they decided afterwards is not in it. Stop services "
                "before the backup of a ledger that moves, or let the restore tell of the gap"
            )
        hand, now = Hand(engine, clock, here.forget), clock()
        losses: tuple[Loss, ...] = ()
        if not wishes.nothing_lost:
            with engine.begin() as connection:
                losses = settle(connection, unfinished, since=manifest.begun, now=now, reason=_reason(manifest))
        kept: Store = _Kept(archive.store)  # type: ignore[assignment]
        erased, retired = asyncio.run(tombstones.again(hand, kept, now, wishes.erased, wishes.retired))
        with engine.connect() as connection, connection.begin():
            found = examine(connection)
    finally:
        engine.dispose()
    if found.faults:
        raise BadBackup(f"{manifest.ledger}/{manifest.name} is not whole: {'; '.join(found.faults)}")
    alone(folder / DATABASE)
    return Restored(manifest, found, losses, journals, erased, retired)


def _journals(folder: Path, engine: Engine, manifest: Manifest, clock: Callable[[], float]) -> int:
    """Moves what was acknowledged into segments; of how many processes."""
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
    """Writers that were dead, and whose journal is here: they decided nothing more."""
    return frozenset(one.epoch for one in manifest.journals if one.whole)


def _bring(references: Sequence[str], archive: Archive, manifest: Manifest, store: Store, note: Note) -> None:
    """Contents into the store, each checked by its name."""
    for done, reference in enumerate(references):
        if reference not in manifest.missing and not store.has(reference):
            try:
                store.put(archive.store.get(reference))
            except (LookupError, ValueError) as error:
                raise BadBackup(f"{manifest.ledger}/{manifest.name}: {error}") from error
        note(0.5 + 0.4 * (done + 1) / len(references), "contents")


def _put(made: Path, place: Path) -> None:
    """Durable first, then there."""
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
