"""``demur ledger verify``: whether a backup, or a ledger in use, is whole."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from services.cli.ledger_places import add_choice, failures, in_use
from services.cli.output import CommandError, print_json
from services.ledger.backup.archive import DATABASE, Archive, BadBackup
from services.ledger.backup.integrity_check import examine
from services.ledger.database import Database
from services.ledger.store import Store
from services.runtime.settings import Settings

EXAMPLE = "demur ledger verify --from /backups"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="archive", metavar="ADDRESS", help="of backups; default: the ledgers in use")
    parser.add_argument("--backup", default="", metavar="NAME", help="default: the newest of each ledger")
    add_choice(parser, "all")


def run(given: argparse.Namespace) -> int:
    """Exit code 0 where nothing is wrong."""
    with failures():
        found = _backups(given) if given.archive else _ledgers(given)
    if given.json:
        print_json({"ledgers": found})
    else:
        for one in found:
            state = "whole" if not one["faults"] else "NOT WHOLE"
            print(f"{one['ledger']}: {state}, {one['units']} units, {one['rows'].get('label', 0)} labels")
            for fault in one["faults"]:
                print(f"  {fault}")
    return 1 if any(one["faults"] for one in found) else 0


def _ledgers(given: argparse.Namespace) -> list[dict[str, Any]]:
    return [_examined(one.name, one.database, one.store) for one in in_use(Settings.read(), given.ledger)]


def _backups(given: argparse.Namespace) -> list[dict[str, Any]]:
    archive, found = Archive(given.archive), []
    names = [given.ledger] if given.ledger else archive.ledgers()
    if not names:
        raise CommandError(f"there are no backups in {given.archive}")
    for name in names:
        manifest = archive.manifest(name, given.backup)
        shown = f"{name}/{manifest.name}"
        with tempfile.TemporaryDirectory() as folder:
            try:
                archive.fetch(manifest, Path(folder))
            except BadBackup as error:
                found.append({"ledger": shown, "units": 0, "rows": {}, "faults": [str(error)]})
                continue
            one = _examined(shown, Database(f"sqlite:///{Path(folder) / DATABASE}"), archive.store, manifest.missing)
        if (one["rows"], one["units"]) != (manifest.rows, manifest.units):
            one["faults"].append("the manifest counts other rows than there are")
        found.append(one)
    return found


def _examined(name: str, database: Database, store: Store, missing: tuple[str, ...] = ()) -> dict[str, Any]:
    def fetch(reference: str) -> bytes:
        return b"" if reference in missing else store.get(reference)

    engine = database.reading()
    try:
        with engine.connect() as connection, connection.begin():
            found = examine(connection, fetch)
    finally:
        engine.dispose()
    return {"ledger": name, "units": found.units, "rows": found.rows, "faults": list(found.faults)}
