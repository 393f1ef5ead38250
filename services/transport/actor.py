"""Who calls, as the caller says: a word for the ledger's events until tokens tell it."""

from __future__ import annotations

import re

from services.errors import InvalidInput

ACTOR_KEY = "demur-actor"
"""Header of HTTP, metadata of gRPC."""
ANONYMOUS = "anonymous"
_ACTOR = re.compile(r"[\x20-\x7e]{1,128}", re.ASCII)


def actor(given: str | None) -> str:
    """
    Raises:
        InvalidInput: too long, or not of printable ASCII.
    """
    if given is None or not given.strip():
        return ANONYMOUS
    if not _ACTOR.fullmatch(given):
        raise InvalidInput(
            f"{ACTOR_KEY} has {len(given)} characters: up to 128 printable ASCII characters are taken",
            code="bad_actor",
            field=ACTOR_KEY,
            allowed="1 to 128 characters",
        )
    return given.strip()
