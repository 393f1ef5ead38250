"""Identity of the caller in ledger events: from the token, or without tokens as stated by the caller."""

import re

from services.access import caller
from services.runtime.errors import Forbidden, InvalidInput

ACTOR_KEY = "demur-actor"
"""HTTP header and gRPC metadata key of the actor."""
ANONYMOUS = "anonymous"
_ACTOR = re.compile(r"[\x20-\x7e]{1,128}", re.ASCII)


def actor(stated: str | None) -> str:
    """Return the actor of a call; ``stated`` is the caller's statement, which must not differ from the token's name.

    Raises:
        Forbidden: it differs from the token's name.
        InvalidInput: it is too long, or not printable ASCII.
    """
    known = caller.name()
    name = (stated or "").strip()
    if known is not None:
        return _same(known, name, ACTOR_KEY)
    if stated is None or not name:
        return ANONYMOUS
    if not _ACTOR.fullmatch(stated):
        raise InvalidInput(
            f"{ACTOR_KEY} has {len(stated)} characters; must be 1 to 128 printable ASCII characters",
            code="bad_actor",
            field=ACTOR_KEY,
            allowed="1 to 128 characters",
        )
    return name


def author(stated: str) -> str:
    """Return the author of a policy change; as ``actor``, for a field of the change.

    Raises:
        Forbidden: it differs from the token's name.
    """
    known = caller.name()
    return (stated or ANONYMOUS) if known is None else _same(known, "" if stated == ANONYMOUS else stated, "author")


def _same(known: str, stated: str, field: str) -> str:
    if stated and stated != known:
        raise Forbidden.about(
            field,
            stated[:60],
            f"must be {known}, the name of the token",
            code="another_name",
            allowed=known,
            advice=f"leave {field} out",
        )
    return known
