"""What went wrong with a database: for callers, for logs, and for counting."""

from __future__ import annotations

from sqlalchemy.exc import DataError, DBAPIError

from services.ledger.database import LedgerHeld
from services.runtime.errors import DemurError, InvalidInput, LedgerUnavailable


def unavailable(reason: str) -> LedgerUnavailable:
    """What a caller is told whose change cannot be made."""
    return LedgerUnavailable(
        f"the ledger cannot write now ({reason}); nothing was acknowledged, repeat the call",
        code="ledger_unavailable",
        retry_after_seconds=1.0,
    )


def refused(error: BaseException) -> BaseException:
    """A failure as the caller is told of it: a value that the database cannot hold, such as a NUL in a text of
    PostgreSQL, is the caller's."""
    if not isinstance(error, DataError):
        return error
    refusal = InvalidInput(
        f"the ledger cannot keep a value of this call: {words(error)}", code="out_of_range", field="body"
    )
    refusal.__cause__ = error
    return refusal


def words(error: BaseException) -> str:
    """A failure in one line; a statement and its values do not belong into logs and answers."""
    if isinstance(error, DemurError):
        return error.message
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    primary = getattr(getattr(cause, "diag", None), "message_primary", None)  # PostgreSQL tells values behind it
    return " ".join(str(primary or cause).split()) or type(cause).__name__


def kind(error: BaseException) -> str:
    """A failure as one of a few words, for counting."""
    told = words(error).lower()
    if isinstance(error, LedgerHeld):
        return "held"
    for part, word in _KINDS.items():
        if part in told:
            return word
    return "connection" if isinstance(error, DBAPIError) else "storage"


_KINDS = {
    "full": "storage_full",
    "no space": "storage_full",
    "readonly": "read_only",
    "read-only": "read_only",
    "locked": "locked",
    "timeout": "timeout",
}
