"""``demur ledger settle``: after pg_restore, a snapshot of a disk or the like, what readers have to know."""

from __future__ import annotations

import argparse
import asyncio
import math
import time
from pathlib import Path
from typing import Any

from services.cli.ledger_places import Ledger, add_choice, failures, gone, in_use
from services.cli.ledger_restore import print_losses
from services.cli.output import BadInput, print_json
from services.ledger.backup import tombstones
from services.ledger.backup.maintenance_writer import (
    Loss,
    MaintenanceWriter,
    OpenWriter,
    close_lost_writer,
    close_writers,
    open_writers,
    refuse_active_writers,
)
from services.ledger.migrations import migrate
from services.runtime.settings import Settings

EXAMPLE = "demur ledger settle --erasures erasures.csv"
_REASON = "the ledger was restored from a backup"
_LOST = "a process was lost with its disk"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since",
        type=float,
        metavar="TIME",
        help="when the backup began, seconds since 1970; default: the last signs of life in it",
    )
    parser.add_argument(
        "--erasures", type=Path, metavar="FILE", help="units to be erased again, as `demur ledger erasures` lists them"
    )
    parser.add_argument(
        "--writer",
        type=_epoch,
        metavar="EPOCH",
        help="only one process, whose disk is lost: 16 hex digits, as the monitor names it; others go on serving",
    )
    parser.add_argument(
        "--until", type=float, metavar="TIME", help="with --writer: when it was dead for sure; default: now"
    )
    add_choice(parser, "all")


def run(given: argparse.Namespace) -> int:
    """Settles each ledger; services are stopped."""
    settings = Settings.read()
    try:
        erased = tombstones.read(given.erasures) if given.erasures else []
    except (OSError, ValueError) as error:
        raise BadInput(f"--erasures: {error}") from error
    done: list[dict[str, Any]] = []
    losses: tuple[Loss, ...]
    with failures():
        ledgers = in_use(settings, given.ledger)
        if given.writer is not None and len(ledgers) > 1:
            raise BadInput("--writer: say by --ledger whose process it is")
        for ledger in ledgers:
            if given.writer is not None:
                losses, count = (_bury(ledger, given.writer, given.until),), 0
            else:
                losses, count = _settle(ledger, settings, given.since, erased)
            gaps = [{"task": one.task, "from": one.start, "to": one.end} for one in losses]
            done.append({"ledger": ledger.name, "gaps": gaps, "erased": count})
            if not given.json:
                print(f"{ledger.name}: settled, {count} units erased again")
                print_losses(losses)
    if given.json:
        print_json({"settled": done})
    return 0


def _epoch(text: str) -> int:
    return int(text, 16)


def _bury(ledger: Ledger, epoch: int, until: float | None) -> Loss:
    engine = ledger.database.writing()
    try:

        def unfinished() -> list[OpenWriter]:
            with engine.connect() as connection, connection.begin():
                return [one for one in open_writers(connection) if one.epoch == epoch]

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
            left = [one for one in open_writers(connection) if one.epoch not in gone(settings)]
            losses = close_writers(connection, left, since=since, now=now, reason=_REASON)
        before = now - settings.retention_days * 86400 if settings.retention_days else -math.inf
        writer = MaintenanceWriter(engine, time.time, database.forget)
        counts = asyncio.run(tombstones.again(writer, ledger.store, now, erased, before))
        return losses, sum(counts)
    finally:
        engine.dispose()
        database.release()
