"""``demur ledger``: back up, verify and list; :mod:`services.cli.ledger_restore` restores."""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click import option
from sqlalchemy.exc import SQLAlchemyError

from services.cli.options import Decorated, LazyGroup, Options, command, json_option, require
from services.cli.output import CommandError, ProgressLine, print_json
from services.ledger.backup import tombstones
from services.ledger.backup.archive import DATABASE, Archive, BadBackup
from services.ledger.backup.backup import back_up, name_of_ledger
from services.ledger.backup.integrity_check import examine
from services.ledger.database import Database, LedgerHeld, LedgerRefused, error_text
from services.ledger.store import Store
from services.monitor.setup import followed
from services.runtime.errors import DemurError
from services.runtime.settings import Settings
from services.runtime.streaming_output import complete

ledger = LazyGroup(
    name="ledger",
    places={
        "backup": "services.cli.ledger:backup",
        "verify": "services.cli.ledger:verify",
        "restore": "services.cli.ledger_restore:restore_command",
        "settle": "services.cli.ledger_restore:settle_command",
        "erasures": "services.cli.ledger:erasures",
    },
    help="Back up, check and restore decisions and labels.",
    epilog="Example: demur ledger backup --to /backups",
)


@dataclass(frozen=True)
class Ledger:
    """A ledger in use."""

    name: str
    database: Database
    store: Store
    journals: Path

    @classmethod
    def at(cls, settings: Settings, url: str, store: Store) -> Ledger:
        """Return the ledger of a database and a content store."""
        database = Database(url)
        return cls(name_of_ledger(database), database, store, settings.home.resolve() / "ledger")


def ledger_option(default: str) -> Callable[[Decorated], Decorated]:
    """Return the option that chooses a ledger."""
    text = f"One ledger: a task for those of this home, else the database's name.  [default: {default}]"
    return option("--ledger", default="", metavar="NAME", help=text)


def in_use(settings: Settings, name: str = "") -> list[Ledger]:
    """Return the ledgers of this home, or those that DEMUR_LEDGER or DEMUR_MONITOR_LEDGERS name.

    Raises:
        CommandError: there is none, or none of that name.
    """
    ledgers = [Ledger.at(settings, source.configured_url, source.store) for source in followed(settings)]
    chosen = [ledger for ledger in ledgers if name in ("", ledger.name)]
    if not chosen:
        names = ", ".join(ledger.name for ledger in ledgers) or f"none in {settings.home.absolute() / 'ledger'}"
        raise CommandError(
            f"no ledger {name or 'at all'}; there are: {names}. Set DEMUR_HOME, or DEMUR_LEDGER to a URL"
        )
    return chosen


@contextmanager
def failures() -> Iterator[None]:
    """Raise failures of ledgers and backups as failures of the command."""
    try:
        yield
    except (BadBackup, LedgerRefused, LedgerHeld) as error:
        raise CommandError(str(error)) from error
    except DemurError as error:
        raise CommandError(error.message) from error
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise CommandError(f"the ledger or backup cannot be read or written: {error_text(error)}") from error


def backed_up(archive: Archive, address: str, name: str) -> list[str]:
    """Return the name of a ledger, or of all ledgers that have backups.

    Raises:
        CommandError: there are no backups.
    """
    names = [name] if name else archive.ledgers()
    if not names:
        raise CommandError(f"there are no backups in {address}")
    return names


@command("backup", example="demur ledger backup --to s3://backups/demur --keep 14")
@option("--to", required=True, metavar="ADDRESS", help="Directory or fsspec address; one for all ledgers.")
@option("--keep", type=int, default=0, metavar="N", help="Delete all but the newest N backups.  [default: none]")
@ledger_option("all")
@json_option
def backup(options: Options) -> int:
    """Copy the ledgers of this home, or DEMUR_LEDGER, while services write them.

    The first failure ends the command; backups made before it stay.
    """
    require(options, "keep", lambda value: value >= 0, "a number of backups of at least 1, or 0 to delete none")
    made = []
    with failures():
        archive = Archive(options.to)
        for ledger in in_use(Settings.read(), options.ledger):
            manifest = back_up(
                ledger.database,
                ledger.store,
                ledger.journals,
                archive,
                ledger=ledger.name,
                clock=time.time,
                note=ProgressLine(f"backing up {ledger.name}"),
            )
            deleted = archive.keep(ledger.name, options.keep) if options.keep else []
            size = sum(file.bytes for file in manifest.files)
            made.append(
                {"ledger": ledger.name, "backup": manifest.name, "units": manifest.units, "rows": manifest.rows}
                | {"bytes": size, "contents": manifest.contents, "missing": list(manifest.missing), "deleted": deleted}
            )
            if not options.json:
                lost = f", {len(manifest.missing)} contents are missing from the store" if manifest.missing else ""
                counts = f"{manifest.units} units, {manifest.rows['label']} labels, {size} bytes{lost}"
                print(f"{ledger.name}/{manifest.name}: {counts}")
    if options.json:
        print_json({"backups": made})
    return 0


@command("verify", example="demur ledger verify --from /backups")
@option("--from", "archive", metavar="ADDRESS", help="Address of backups.  [default: the ledgers in use]")
@option("--backup", default="", metavar="NAME", help="Backup.  [default: the newest of each ledger]")
@ledger_option("all")
@json_option
def verify(options: Options) -> int:
    """Check hashes, unique units and referenced contents of a backup, or of the ledgers in use.

    Exit code 0 if there are no faults.
    """
    with failures():
        if options.archive:
            results = _verify_backups(options)
        else:
            results = [
                _examined(ledger.name, ledger.database, ledger.store)
                for ledger in in_use(Settings.read(), options.ledger)
            ]
    if options.json:
        print_json({"ledgers": results})
    else:
        for result in results:
            state = "NOT WHOLE" if result["faults"] else "whole"
            print(f"{result['ledger']}: {state}, {result['units']} units, {result['rows'].get('label', 0)} labels")
            for fault in result["faults"]:
                print(f"  {fault}")
    return int(any(result["faults"] for result in results))


@command("erasures", example="demur ledger erasures --to erasures.csv")
@option("--since", type=float, default=0.0, metavar="TIME", help="Of the oldest backup, in seconds since 1970.")
@option("--to", type=Path, metavar="FILE", help="Output file.  [default: standard output]")
@ledger_option("all")
@json_option
def erasures(options: Options) -> int:
    """List ids and times of erased units; give the list to `demur ledger restore`."""
    erased = []
    with failures():
        for ledger in in_use(Settings.read(), options.ledger):
            engine = ledger.database.reading()
            try:
                with engine.connect() as connection, connection.begin():
                    erased += list(tombstones.erased(connection, options.since))
            finally:
                engine.dispose()
        if options.to is not None:
            with complete(options.to) as part, part.open("w") as file:
                tombstones.write(erased, file)
        elif not options.json:
            tombstones.write(erased, sys.stdout)
    if options.json:
        print_json({"erased": len(erased)})
    return 0


def _verify_backups(options: Options) -> list[dict[str, Any]]:
    archive = Archive(options.archive)
    results = []
    for name in backed_up(archive, options.archive, options.ledger):
        manifest = archive.manifest(name, options.backup)
        title = f"{name}/{manifest.name}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                archive.fetch(manifest, Path(folder))
            except BadBackup as error:
                results.append({"ledger": title, "units": 0, "rows": {}, "faults": [str(error)]})
                continue
            database = Database(f"sqlite:///{Path(folder) / DATABASE}")
            result = _examined(title, database, archive.store, manifest.missing)
        if (result["rows"], result["units"]) != (manifest.rows, manifest.units):
            result["faults"].append("the row counts of the manifest differ from those of the database")
        results.append(result)
    return results


def _examined(name: str, database: Database, store: Store, missing: tuple[str, ...] = ()) -> dict[str, Any]:
    def fetch(reference: str) -> bytes:
        return b"" if reference in missing else store.get(reference)

    engine = database.reading()
    try:
        with engine.connect() as connection, connection.begin():
            result = examine(connection, fetch)
    finally:
        engine.dispose()
    return {"ledger": name, "units": result.units, "rows": result.rows, "faults": list(result.faults)}
