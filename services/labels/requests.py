"""State machine of a label request: its transitions, who may make them, and what they need.

Every deferred and every audited unit has one request. Nothing here knows which of the two it is.
"""

from dataclasses import dataclass
from typing import Literal

from services.runtime.errors import Conflict, InvalidInput

State = Literal["requested", "claimed", "labelled", "skipped", "expired", "unlabelable"]
STATES: tuple[State, ...] = ("requested", "claimed", "labelled", "skipped", "expired", "unlabelable")
Who = Literal["anyone", "holder", "service"]
"""``holder`` has the lease; ``service`` stands for expiry, or a draw."""
REASON_CHARACTERS = 255


@dataclass(frozen=True, slots=True)
class Move:
    """Transition between states."""

    name: str
    sources: tuple[State, ...]
    target: State
    who: Who
    reason_needed: bool = False


CLAIM = Move("claim", ("requested",), "claimed", "anyone")
EXTEND = Move("extend", ("claimed",), "claimed", "holder")
RELEASE = Move("release", ("claimed",), "requested", "holder")
LEASE_OVER = Move("lease over", ("claimed",), "requested", "service")
SKIP = Move("skip", ("claimed",), "skipped", "holder", reason_needed=True)
GIVE_UP = Move("give up", ("claimed",), "unlabelable", "holder", reason_needed=True)
SUBMIT = Move("submit", ("claimed", "requested"), "labelled", "holder")
"""From ``requested``, too: a lease that ran out while the holder worked, and that nobody took since."""
LABEL = Move("label", ("requested", "claimed", "skipped", "expired", "unlabelable"), "labelled", "anyone")
"""A requested label that did not come through the review queue; also late, after the request ended."""
EXPIRE = Move("expire", ("requested",), "expired", "service")
SECOND_PHASE = Move("second phase", ("skipped", "expired"), "requested", "service")
"""A random share of unanswered requests is opened again, and then has to be answered (Hansen & Hurwitz 1946)."""
MOVES = (CLAIM, EXTEND, RELEASE, LEASE_OVER, SKIP, GIVE_UP, SUBMIT, LABEL, EXPIRE, SECOND_PHASE)


def next_state(
    state: State, move: Move, *, holds: bool = False, reason: str = "", must_complete: bool = False
) -> State:
    """Return the state after a move.

    Args:
        holds: whether the caller has the lease.
        must_complete: the request was drawn in the second phase: it is answered, or found to be unlabelable.

    Raises:
        Conflict: not in this state, not without the lease, or not skipped because it has to be completed.
        InvalidInput: a reason is needed and there is none, or it is too long.
    """
    if move.reason_needed:
        check_reason(move.name, reason)
    if move.who == "holder" and not holds:
        raise Conflict(
            "the lease of this request has ended, and somebody else may hold it; claim again", code="lease_lost"
        )
    if state not in move.sources:
        raise Conflict.about(
            "state",
            state,
            f"must be {' or '.join(move.sources)} to {move.name}",
            code="wrong_state",
            allowed=", ".join(move.sources),
        )
    if move is SKIP and must_complete:
        raise Conflict(
            "this request represents others that were skipped or expired and cannot be skipped again: label it, "
            "release it for somebody else, or mark it as unlabelable",
            code="must_complete",
        )
    return move.target


def check_reason(what: str, reason: str) -> None:
    """Check a reason.

    Raises:
        InvalidInput: it is missing or too long.
    """
    if not reason.strip():
        raise InvalidInput(
            f"reason: must not be empty to {what}; give up to {REASON_CHARACTERS} characters",
            code="reason_needed",
            field="reason",
        )
    if "\0" in reason:  # which not every database keeps
        raise InvalidInput("reason: must not contain a NUL character", code="reason_needed", field="reason")
    if len(reason) > REASON_CHARACTERS:
        raise InvalidInput.about(
            "reason", len(reason), code="reason_too_long", allowed=f"[1, {REASON_CHARACTERS}]", unit="characters"
        )
