"""Monitor and followed ledgers, built from settings."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import scipy.optimize  # noqa: F401 - loaded at start, not within the first evaluation
from sqlalchemy import Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from models.live.window_evaluator import EvaluationOptions, WindowEvaluator
from models.live.windows import parse_spans
from services.ledger.database import Database, LedgerRefused
from services.ledger.store import Store
from services.monitor.process import Monitor
from services.runtime.settings import Settings
from services.runtime.variables import SettingsError

REQUEST_UNITS = 500_000
"""Minimum number of newest units with a request that are kept individually."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Ledger and its store of evidence."""

    configured_url: str
    """URL as configured."""
    store: Store

    @property
    def url(self) -> str:
        """URL without the password."""
        return _without_password(self.configured_url)

    def engine(self) -> Engine:
        """Return a read-only engine.

        Raises:
            FileNotFoundError: the file does not exist yet.
        """
        database = Database(self.configured_url)
        if database.path is not None and not database.path.exists():
            raise FileNotFoundError(f"there is no {database.path}")
        return database.reading()

    def fetch(self, reference: str) -> bytes:
        """Return content of the evidence store."""
        return self.store.get(reference)


def monitor(settings: Settings) -> Monitor:
    """Build a monitor that has read nothing yet.

    Raises:
        SettingsError: a setting of the monitor is not valid.
    """
    try:
        spans = parse_spans(settings.monitor_windows)
    except ValueError as error:
        raise SettingsError(f"DEMUR_MONITOR_WINDOWS: {error}") from error
    options = EvaluationOptions(
        spans=spans,
        last_units=settings.monitor_last_units,
        exact_units=settings.monitor_exact_units,
        estimator=settings.monitor_estimator,
        alpha=settings.monitor_alpha,
    )
    followed(settings)
    held = max(settings.monitor_exact_units, settings.monitor_last_units)
    return Monitor(
        lambda: [*followed(settings)],
        WindowEvaluator(options),
        exact_units=held,
        request_units=max(held, REQUEST_UNITS),
        gone=_gone(settings.monitor_gone),
        assisted=settings.monitor_assisted,
    )


def followed(settings: Settings) -> list[Ledger]:
    """Return the ledgers that exist now.

    Raises:
        SettingsError: a URL is not valid.
    """
    store = Store(settings.ledger_store or str(settings.home.absolute() / "ledger" / "store"))
    try:
        ledgers = [Ledger(url, store) for url in _urls(settings)]
        for ledger in ledgers:
            _check(ledger.configured_url)
    except (ValueError, LedgerRefused) as error:
        raise SettingsError(f"DEMUR_MONITOR_LEDGERS: {error}") from error
    return ledgers


def _urls(settings: Settings) -> list[str]:
    """Return URLs of ledgers; by default those of existing SQLite files of all services.

    Raises:
        ValueError: a URL is not valid.
    """
    own = settings.ledger
    listed_urls = settings.monitor_ledgers or (own if "://" in own else "")
    if not listed_urls:
        files = [] if own in ("", "none") else sorted((Path(settings.home).absolute() / "ledger").glob("*.db"))
        return [f"sqlite:///{path}" for path in files]
    urls = list(dict.fromkeys(part.strip() for part in listed_urls.split(",") if part.strip()))
    for url in urls:
        _without_password(url)
    return urls


@lru_cache(maxsize=1024)  # URLs are looked at in each cycle
def _check(url: str) -> None:
    """Check that a URL is one of a ledger.

    Raises:
        LedgerRefused, ValueError: it is not.
    """
    Database(url)


@lru_cache(maxsize=1024)
def _without_password(url: str) -> str:
    """Return a URL without its password, for logs.

    Raises:
        ValueError: it is not a URL of a database.
    """
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError as error:
        raise ValueError(
            f"ledger = {url!r}: must be a URL such as sqlite:///FILE or postgresql+psycopg://HOST/NAME"
        ) from error


def _gone(text: str) -> frozenset[int]:
    try:
        return frozenset(int(part, 16) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise SettingsError(f"DEMUR_MONITOR_GONE = {text!r}: must be 16 hex digits for each process") from error
