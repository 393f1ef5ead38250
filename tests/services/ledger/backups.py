"""Backups of a test's ledger, and the ledgers that are made of them."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from services.ledger.backup.archive import Archive, Manifest
from services.ledger.backup.backup import back_up
from services.ledger.backup.integrity_check import examine
from services.ledger.backup.restore import Restored, RestoreOptions, restore
from services.ledger.contract import Payload
from services.ledger.database import Database
from services.ledger.store import Store
from tests.services.ledger.recording import POWER, Recording


def quiet(share: float, what: str) -> None:
    """Nobody watches."""


def backed_up(url: str, home: Path, archive: Archive | Path) -> Manifest:
    """One backup of a ledger whose journals and store are below ``home``."""
    to = archive if isinstance(archive, Archive) else Archive(str(archive))
    store = Store(str(home / "store"))
    return back_up(Database(url), store, home, to, ledger="toy", clock=time.time, note=quiet)


def restored(archive: Archive | Path, manifest: Manifest, url: str, home: Path, **wishes: Any) -> Restored:
    """A ledger of it."""
    source = archive if isinstance(archive, Archive) else Archive(str(archive))
    store = Store(str(home / "store"))

    def work() -> Restored:
        return restore(source, manifest, Database(url), store, RestoreOptions(**wishes), clock=time.time, note=quiet)

    with ThreadPoolExecutor(1) as thread:  # it has an event loop of its own, as the command has
        return thread.submit(work).result()


def faults(url: str, home: Path) -> tuple[str, ...]:
    """What is wrong with a ledger and its store."""
    engine = Database(url).reading()
    try:
        with engine.connect() as connection, connection.begin():
            return examine(connection, Store(str(home / "store")).get).faults
    finally:
        engine.dispose()


async def decide_large(recorder: Recording, scores: list[float], contents: list[bytes]) -> int:
    """Deferred units with inputs that go to the store; the sequence of the first."""
    portion = recorder.portion({POWER.name: scores})
    assert await recorder.record(portion, Payload("application/x-toy", lambda items: [contents[i] for i in items]))
    return portion.ids[POWER.name].first
