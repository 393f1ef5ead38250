"""``demur ledger backup``: copies of ledgers that services write meanwhile."""

from __future__ import annotations

import argparse
import time

from services.cli.ledger_places import add_choice, failures, in_use
from services.cli.output import BadInput, ProgressLine, print_json
from services.ledger.backup.archive import Archive
from services.ledger.backup.backup import back_up
from services.runtime.settings import Settings

EXAMPLE = "demur ledger backup --to s3://backups/demur --keep 14"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", required=True, metavar="ADDRESS", help="directory, or address of fsspec; one for all")
    parser.add_argument("--keep", type=int, default=0, metavar="N", help="delete all but the newest N; default: none")
    add_choice(parser, "all")


def run(given: argparse.Namespace) -> int:
    """Backs up each ledger; the first failure ends the command, what was made before it stays."""
    if given.keep < 0:
        raise BadInput(f"--keep {given.keep}: a number of backups from 1 up is needed, or 0 to delete none")
    made = []
    with failures():
        archive = Archive(given.to)
        for ledger in in_use(Settings.read(), given.ledger):
            manifest = back_up(
                ledger.database,
                ledger.store,
                ledger.journals,
                archive,
                ledger=ledger.name,
                clock=time.time,
                note=ProgressLine(f"backing up {ledger.name}"),
            )
            gone = archive.keep(ledger.name, given.keep) if given.keep else []
            size = sum(file.bytes for file in manifest.files)
            made.append(
                {"ledger": ledger.name, "backup": manifest.name, "units": manifest.units, "rows": manifest.rows}
                | {"bytes": size, "contents": manifest.contents, "missing": list(manifest.missing), "deleted": gone}
            )
            if not given.json:
                lost = f", {len(manifest.missing)} contents are not in the store" if manifest.missing else ""
                told = f"{manifest.units} units, {manifest.rows['label']} labels, {size} bytes{lost}"
                print(f"{ledger.name}/{manifest.name}: {told}")
    if given.json:
        print_json({"backups": made})
    return 0
