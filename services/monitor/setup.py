"""The monitor as the settings have it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import scipy.optimize  # noqa: F401 - loaded at start, not within the first judgement
from sqlalchemy import Engine

from services.ledger.database import Database, LedgerRefused
from services.ledger.store import Store
from services.monitor.judge import Judge, Options
from services.monitor.places import ledgers, shown
from services.monitor.process import Monitor, Place
from services.monitor.spans import spans
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError

REQUEST_UNITS = 500_000
"""Newest units with a request that are held one by one, at least."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """One ledger and its store of evidence."""

    given: str
    store: Store

    @property
    def url(self) -> str:
        return shown(self.given)

    def engine(self) -> Engine:
        database = Database(self.given)
        if database.path is not None and not database.path.exists():
            raise FileNotFoundError(f"there is no {database.path}")
        return database.reading()

    def fetch(self, reference: str) -> bytes:
        return self.store.get(reference)


def monitor(settings: Settings) -> Monitor:
    """A monitor that has read nothing yet.

    Raises:
        SettingsError: a setting of the monitor is none; says which.
    """
    options = _options(settings)
    followed(settings)

    def places() -> list[Place]:
        return [*followed(settings)]

    held = max(settings.monitor_exact_units, settings.monitor_last_units)
    return Monitor(
        places,
        Judge(options),
        exact_units=held,
        request_units=max(held, REQUEST_UNITS),
        gone=_gone(settings.monitor_gone),
    )


def followed(settings: Settings) -> list[Ledger]:
    """The ledgers that there are now.

    Raises:
        SettingsError: one is none.
    """
    store = Store(settings.ledger_store or str(settings.home.absolute() / "ledger" / "store"))
    found = [Ledger(url, store) for url in _urls(settings)]
    for ledger in found:
        try:
            Database(ledger.given)
        except LedgerRefused as error:
            raise SettingsError(f"DEMUR_MONITOR_LEDGERS: {error}") from error
    return found


def _options(settings: Settings) -> Options:
    try:
        windows = spans(settings.monitor_windows)
    except ValueError as error:
        raise SettingsError(f"DEMUR_MONITOR_WINDOWS: {error}") from error
    return Options(
        spans=windows,
        last_units=settings.monitor_last_units,
        exact_units=settings.monitor_exact_units,
        estimator=settings.monitor_estimator,
        alpha=settings.monitor_alpha,
    )


def _urls(settings: Settings) -> tuple[str, ...]:
    one = settings.ledger
    given = settings.monitor_ledgers or (one if "://" in one else "")
    if not given and one in ("", "none"):
        return ()
    try:
        return ledgers(given, Path(settings.home))
    except ValueError as error:
        raise SettingsError(f"DEMUR_MONITOR_LEDGERS: {error}") from error


def _gone(text: str) -> frozenset[int]:
    try:
        return frozenset(int(part, 16) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise SettingsError(f"DEMUR_MONITOR_GONE = {text!r}: 16 hex digits for each process are needed") from error
