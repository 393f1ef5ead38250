"""Identity of the caller in ledger events: from the token, or without tokens as stated by the caller."""

import re

from services.access import caller
from services.runtime.errors import Forbidden, InvalidInput

ACTOR_KEY = "demur-actor"
"""HTTP header and gRPC metadata key of the actor."""
ANONYMOUS = "anonymous"
_ACTOR = re.compile(r"[\x20-\x7e]{1,128}", re.ASCII)


def actor(given: str | None) -> str:
    """Return the actor of a call; ``given`` is the caller's statement, which must not differ from the token's name.

    Raises:
        Forbidden: it differs from the token's name.
        InvalidInput: it is too long, or not printable ASCII.
    """
    known = caller.name()
    said = (given or "").strip()
    if known is not None:
        return _same(known, said, ACTOR_KEY)
    if given is None or not said:
        return ANONYMOUS
    if not _ACTOR.fullmatch(given):
        raise InvalidInput(
            f"{ACTOR_KEY} has {len(given)} characters: up to 128 printable ASCII characters are taken",
            code="bad_actor",
            field=ACTOR_KEY,
            allowed="1 to 128 characters",
        )
    return said


def author(given: str) -> str:
    """Return the author of a policy change; as ``actor``, for a field of the change.

    Raises:
        Forbidden: it differs from the token's name.
    """
    known = caller.name()
    return (given or ANONYMOUS) if known is None else _same(known, "" if given == ANONYMOUS else given, "author")


def _same(known: str, said: str, field: str) -> str:
    if said and said != known:
        raise Forbidden(
            f"{field} = {said[:60]!r}, and the token is of {known!r}; leave {field} out",
            code="another_name",
            field=field,
            value=said[:60],
            allowed=known,
        )
    return known
