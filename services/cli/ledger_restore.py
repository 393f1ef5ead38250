"""``demur ledger restore`` and ``demur ledger settle``: ledgers after a loss, with its gaps recorded."""

import asyncio
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from click import option

from services.cli.ledger import Ledger, backed_up, failures, in_use, ledger_option
from services.cli.options import Options, command, json_option, switch
from services.cli.output import BadInput, CommandError, ProgressLine, print_json
from services.ledger.backup import tombstones
from services.ledger.backup.archive import Archive
from services.ledger.backup.maintenance_writer import (
    Loss,
    MaintenanceWriter,
    OpenWriter,
    close_lost_writer,
    close_writers,
    open_writers,
    refuse_active_writers,
)
from services.ledger.backup.restore import RestoreOptions, restore
from services.ledger.migrations import migrate
from services.ledger.store import Store
from services.runtime.settings import Settings

_RESTORED = "the ledger was restored from a backup"
_LOST = "a process was lost with its disk"

erasures_option = option(
    "--erasures", type=Path, metavar="FILE", help="Units to erase again, as `demur ledger erasures` lists them."
)


@command("restore", example="demur ledger restore --from /backups --erasures erasures.csv")
@option("--from", "archive", required=True, metavar="ADDRESS", help="Address of backups.")
@option("--backup", default="", metavar="NAME", help="Backup.  [default: the newest of each ledger]")
@erasures_option
@switch("--nothing-lost", help="Record no gap: services had stopped before the backup, and decided nothing after it.")
@ledger_option("all that have backups")
@json_option
def restore_command(options: Options) -> int:
    """Restore ledgers to where services look for them; existing ledgers are never overwritten."""
    settings = Settings.read()
    erased = _erased(options)
    now = time.time()
    restoring = RestoreOptions(
        erased=erased, retired=_retired(settings, now), gone=_gone(settings), nothing_lost=options.nothing_lost
    )
    done = []
    with failures():
        archive = Archive(options.archive)
        names = backed_up(archive, options.archive, options.ledger)
        if len(names) > 1 and settings.ledger != "sqlite":
            raise CommandError(
                f"DEMUR_LEDGER names one ledger, but there are backups of {', '.join(names)}: choose one with --ledger"
            )
        for name in names:
            ledger = _target(settings, name)
            manifest = archive.manifest(name, options.backup)
            note = ProgressLine(f"restoring {name}")
            made = restore(archive, manifest, ledger.database, ledger.store, restoring, clock=time.time, note=note)
            done.append(
                {
                    "ledger": manifest.ledger,
                    "backup": manifest.name,
                    "units": made.report.units,
                    "rows": made.report.rows,
                    "gaps": _gaps(made.losses),
                    "erased": made.erased,
                    "retired": made.retired,
                    "missing": list(manifest.missing),
                }
            )
            if not options.json:
                print(
                    f"{manifest.ledger}/{manifest.name}: {made.report.units} units, {made.report.rows['label']} labels"
                )
                _print_losses(made.losses)
                if made.erased or made.retired:
                    print(f"  erased again: {made.erased} of the list, {made.retired} beyond the retention period")
    if options.json:
        print_json({"restored": done})
    return 0


def _epoch(text: str) -> int:
    return int(text, 16)


@command("settle", example="demur ledger settle --erasures erasures.csv")
@option(
    "--since",
    type=float,
    metavar="TIME",
    help="Start of the backup, in seconds since 1970.  [default: the last signs of life in it]",
)
@erasures_option
@option(
    "--writer",
    type=_epoch,
    metavar="EPOCH",
    help="Only one process, whose disk is lost: 16 hex digits, as the monitor names it; others go on serving.",
)
@option("--until", type=float, metavar="TIME", help="With --writer: when it had certainly ended.  [default: now]")
@ledger_option("all")
@json_option
def settle_command(options: Options) -> int:
    """Record gaps after pg_restore, a disk snapshot or the like, while services are stopped."""
    settings = Settings.read()
    erased = _erased(options)
    done: list[dict[str, Any]] = []
    with failures():
        ledgers = in_use(settings, options.ledger)
        if options.writer is not None and len(ledgers) > 1:
            raise BadInput("--writer: name the ledger of the process with --ledger")
        for ledger in ledgers:
            losses: tuple[Loss, ...]
            if options.writer is not None:
                losses, count = (_close_lost_writer(ledger, options.writer, options.until),), 0
            else:
                losses, count = _settle(ledger, settings, options.since, erased)
            done.append({"ledger": ledger.name, "gaps": _gaps(losses), "erased": count})
            if not options.json:
                print(f"{ledger.name}: settled, {count} units erased again")
                _print_losses(losses)
    if options.json:
        print_json({"settled": done})
    return 0


def _erased(options: Options) -> list[tuple[int, int]]:
    """Return the units of ``--erasures``.

    Raises:
        BadInput: the file cannot be read.
    """
    try:
        return tombstones.read(options.erasures) if options.erasures else []
    except (OSError, ValueError) as error:
        raise BadInput(f"--erasures: {error}") from error


def _target(settings: Settings, name: str) -> Ledger:
    """Return the place of a ledger that is to be restored.

    Raises:
        CommandError: services keep no ledger.
    """
    if settings.ledger in ("", "none"):
        raise CommandError("DEMUR_LEDGER = none: services keep no ledger; set it to the place of the new ledger")
    directory = settings.home.resolve() / "ledger"
    url = f"sqlite:///{directory / name}.db" if settings.ledger == "sqlite" else settings.ledger
    return Ledger.at(settings, url, Store(settings.ledger_store or str(directory / "store")))


def _gone(settings: Settings) -> frozenset[int]:
    """Return the writers that DEMUR_MONITOR_GONE declares ended."""
    return frozenset(int(part, 16) for part in settings.monitor_gone.split(",") if part.strip())


def _retired(settings: Settings, now: float) -> float:
    """Return the time before which units are beyond the retention period."""
    return now - settings.retention_days * 86400 if settings.retention_days else -math.inf


def _gaps(losses: Iterable[Loss]) -> list[dict[str, Any]]:
    return [{"task": loss.task, "from": loss.start, "to": loss.end} for loss in losses]


def _print_losses(losses: Iterable[Loss]) -> None:
    for loss in losses:
        start, end = (time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment)) for moment in (loss.start, loss.end))
        print(f"  {loss.task}: decisions from {start} to {end} UTC are lost; figures of that time are not valid")


def _close_lost_writer(ledger: Ledger, epoch: int, until: float | None) -> Loss:
    engine = ledger.database.writing()
    try:

        def unfinished() -> list[OpenWriter]:
            with engine.connect() as connection, connection.begin():
                return [writer for writer in open_writers(connection) if writer.epoch == epoch]

        refuse_active_writers(unfinished)
        now = time.time()
        with engine.begin() as connection:
            return close_lost_writer(connection, epoch, until=now if until is None else until, now=now, reason=_LOST)
    finally:
        engine.dispose()


def _settle(
    ledger: Ledger, settings: Settings, since: float | None, erased: list[tuple[int, int]]
) -> tuple[tuple[Loss, ...], int]:
    database = ledger.database
    database.hold()
    engine = database.writing()
    try:
        migrate(engine, time.time)

        def unfinished() -> list[OpenWriter]:
            with engine.connect() as connection, connection.begin():
                return open_writers(connection)

        refuse_active_writers(unfinished)
        now = time.time()
        with engine.begin() as connection:
            left = [writer for writer in open_writers(connection) if writer.epoch not in _gone(settings)]
            losses = close_writers(connection, left, since=since, now=now, reason=_RESTORED)
        writer = MaintenanceWriter(engine, time.time, database.forget)
        counts = asyncio.run(tombstones.again(writer, ledger.store, now, erased, _retired(settings, now)))
        return losses, sum(counts)
    finally:
        engine.dispose()
        database.release()
