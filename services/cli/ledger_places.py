"""Which ledgers a command is about, and failures of theirs in words."""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from services.cli.output import CommandError
from services.ledger.backup.archive import BadBackup
from services.ledger.backup.backup import name_of_ledger
from services.ledger.database import Database, LedgerHeld, LedgerRefused, error_text
from services.ledger.store import Store
from services.monitor.setup import followed
from services.runtime.errors import DemurError
from services.runtime.settings import Settings


@dataclass(frozen=True)
class Ledger:
    """One ledger in use."""

    name: str
    database: Database
    store: Store
    journals: Path


def add_choice(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds the option that chooses a ledger."""
    parser.add_argument(
        "--ledger",
        default="",
        metavar="NAME",
        help=f"one ledger: a task for those of this home, else the database's name; default: {default}",
    )


def in_use(settings: Settings, name: str = "") -> list[Ledger]:
    """The ledgers of this home, or those that DEMUR_LEDGER or DEMUR_MONITOR_LEDGERS name.

    Raises:
        CommandError: there is none, or none of that name.
    """
    found = [_ledger(settings, one.given, one.store) for one in followed(settings)]
    chosen = [one for one in found if name in ("", one.name)]
    if not chosen:
        have = ", ".join(one.name for one in found) or f"none in {settings.home.absolute() / 'ledger'}"
        raise CommandError(f"no ledger {name or 'at all'}; there are: {have}. Set DEMUR_HOME, or DEMUR_LEDGER to a URL")
    return chosen


def target(settings: Settings, name: str) -> Ledger:
    """Where a ledger of a name is to be.

    Raises:
        CommandError: services keep no ledger.
    """
    if settings.ledger in ("", "none"):
        raise CommandError("DEMUR_LEDGER = none: services keep no ledger; set it to where the ledger is to be")
    directory = settings.home.resolve() / "ledger"
    url = f"sqlite:///{directory / name}.db" if settings.ledger == "sqlite" else settings.ledger
    return _ledger(settings, url, Store(settings.ledger_store or str(directory / "store")))


def gone(settings: Settings) -> frozenset[int]:
    """Writers that somebody has said will not be heard of again."""
    return frozenset(int(part, 16) for part in settings.monitor_gone.split(",") if part.strip())


@contextmanager
def failures() -> Iterator[None]:
    """What goes wrong with ledgers and backups, as failures of a command."""
    try:
        yield
    except (BadBackup, LedgerRefused, LedgerHeld) as error:
        raise CommandError(str(error)) from error
    except DemurError as error:
        raise CommandError(error.message) from error
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise CommandError(f"it cannot be read or written: {error_text(error)}") from error


def _ledger(settings: Settings, url: str, store: Store) -> Ledger:
    database = Database(url)
    return Ledger(name_of_ledger(database), database, store, settings.home.resolve() / "ledger")
