"""Secrets that all writers of a ledger share, made by whoever needs one first."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from services.ledger.tables import secret


def shared_secret(connection: Connection, name: str) -> bytes:
    """32 random bytes that are the same for every process, for ever."""
    kind: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    made = kind.insert(secret).values(name=name, value=secrets.token_bytes(32)).on_conflict_do_nothing()
    query = select(secret.c.value).where(secret.c.name == name)
    if (found := connection.scalar(query)) is None:
        connection.execute(made)
        found = connection.scalar(query)
    assert found is not None
    return bytes(found)
