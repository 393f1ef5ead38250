"""``demur ledger restore``: ledgers from their backups, where none are."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

from services.cli.ledger_places import add_choice, failures, gone, target
from services.cli.output import BadInput, CommandError, ProgressLine, print_json
from services.ledger.backup import tombstones
from services.ledger.backup.archive import Archive
from services.ledger.backup.maintenance_writer import Loss
from services.ledger.backup.restore import Restored, RestoreOptions, restore
from services.runtime.settings import Settings

EXAMPLE = "demur ledger restore --from /backups --erasures erasures.csv"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="archive", required=True, metavar="ADDRESS", help="of backups")
    parser.add_argument("--backup", default="", metavar="NAME", help="default: the newest of each ledger")
    parser.add_argument(
        "--erasures", type=Path, metavar="FILE", help="units to be erased again, as `demur ledger erasures` lists them"
    )
    parser.add_argument(
        "--nothing-lost",
        action="store_true",
        help="no gap: services had stopped before the backup, and decided nothing after it",
    )
    add_choice(parser, "all that there are backups of")


def run(given: argparse.Namespace) -> int:
    """Restores each ledger to where services look for it; what is there is never written over."""
    settings, done = Settings.read(), []
    try:
        erased = tombstones.read(given.erasures) if given.erasures else []
    except (OSError, ValueError) as error:
        raise BadInput(f"--erasures: {error}") from error
    now = time.time()
    options = RestoreOptions(
        erased=erased,
        retired=now - settings.retention_days * 86400 if settings.retention_days else -math.inf,
        gone=gone(settings),
        nothing_lost=given.nothing_lost,
    )
    with failures():
        archive = Archive(given.archive)
        names = [given.ledger] if given.ledger else archive.ledgers()
        if not names:
            raise CommandError(f"there are no backups in {given.archive}")
        if len(names) > 1 and settings.ledger != "sqlite":
            raise CommandError(f"DEMUR_LEDGER names one ledger, backups are of {', '.join(names)}: choose by --ledger")
        for name in names:
            place = target(settings, name)
            manifest = archive.manifest(name, given.backup)
            note = ProgressLine(f"restoring {name}")
            made = restore(archive, manifest, place.database, place.store, options, clock=time.time, note=note)
            done.append(_document(made))
            if not given.json:
                _print(made)
    if given.json:
        print_json({"restored": done})
    return 0


def _document(made: Restored) -> dict[str, Any]:
    return {
        "ledger": made.manifest.ledger,
        "backup": made.manifest.name,
        "units": made.report.units,
        "rows": made.report.rows,
        "gaps": [{"task": one.task, "from": one.start, "to": one.end} for one in made.losses],
        "erased": made.erased,
        "retired": made.retired,
        "missing": list(made.manifest.missing),
    }


def _print(made: Restored) -> None:
    print(f"{made.manifest.ledger}/{made.manifest.name}: {made.report.units} units, {made.report.rows['label']} labels")
    print_losses(made.losses)
    if made.erased or made.retired:
        print(f"  erased again: {made.erased} of the list, {made.retired} beyond the retention period")


def print_losses(losses: tuple[Loss, ...]) -> None:
    """What readers will be told."""
    for one in losses:
        start, end = (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment)) for moment in (one.start, one.end))
        print(f"  {one.task}: what was decided from {start} to {end} UTC is lost; figures of that time are not valid")
