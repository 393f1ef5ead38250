"""Which ledgers there are to follow."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError


def ledgers(given: str, home: Path) -> tuple[str, ...]:
    """Database URLs of the ledgers.

    Args:
        given: URLs divided by commas; empty: every service's own SQLite file below ``home``, as far as there are such.

    Raises:
        ValueError: a URL is none.
    """
    if not given:
        return tuple(f"sqlite:///{path}" for path in sorted((home.absolute() / "ledger").glob("*.db")))
    urls = tuple(dict.fromkeys(part.strip() for part in given.split(",") if part.strip()))
    for url in urls:
        shown(url)
    return urls


def shown(url: str) -> str:
    """A URL for people and logs: without its password.

    Raises:
        ValueError: it is none.
    """
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError as error:
        raise ValueError(
            f"a ledger needs a URL such as sqlite:///FILE or postgresql+psycopg://…, not {url!r}"
        ) from error
