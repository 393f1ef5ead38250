"""Names of units and of requests: how a unit id is read, and ids of requests that give no unit away."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from services.runtime.errors import InvalidInput

Unit = tuple[int, int]
"""Epoch of the process that decided, and sequence number."""
MOST_SEQUENCE = 2**63 - 1
_TEXT = re.compile(r"([0-9a-f]{16})-(0|[1-9][0-9]{0,18})", re.ASCII)
_REQUEST = re.compile(r"[0-9a-f]{32}", re.ASCII)
_ROUNDS = 8


def unit_text(unit: Unit) -> str:
    """Sixteen hex digits, a hyphen, the sequence number."""
    return f"{unit[0]:016x}-{unit[1]}"


def parse_unit(text: str) -> Unit:
    """A unit id as answers give it.

    Raises:
        InvalidInput: it is none.
    """
    found = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise bad_unit(str(text)[:80])
    return checked_unit(int(found[1], 16), int(found[2]))


def checked_unit(epoch: int, sequence: int) -> Unit:
    """
    Raises:
        InvalidInput: no process has such an epoch, or gives such a sequence number.
    """
    if not 0 <= epoch <= MOST_SEQUENCE or not 0 <= sequence <= MOST_SEQUENCE:
        raise bad_unit(f"{epoch:016x}-{sequence}")
    return epoch, sequence


def bad_unit(text: str) -> InvalidInput:
    """The refusal of what is no unit id."""
    return InvalidInput(
        f"{text!r} is no unit id; give one of an answer's prediction_ids: sixteen hex digits, a hyphen, a number",
        code="bad_unit",
        field="unit",
        value=text,
        allowed="0123456789abcdef-0",
    )


@dataclass(frozen=True)
class RequestIds:
    """Ids of requests: a keyed permutation of unit ids (Luby & Rackoff 1988), so that nothing has to be stored.

    Who has a request's id cannot look its unit up, nor tell the order or the process of the decision.
    """

    key: bytes
    """Secret of the ledger, 32 bytes."""

    def text(self, unit: Unit) -> str:
        """32 hex digits."""
        left, right = unit
        for number in range(_ROUNDS):
            left, right = right, left ^ self._mix(number, right)
        return f"{left:016x}{right:016x}"

    def unit(self, text: str) -> Unit | None:
        """The unit of a request id; None where it cannot be one. Whether there is such a unit is another question."""
        if not _REQUEST.fullmatch(text):
            return None
        left, right = int(text[:16], 16), int(text[16:], 16)
        for number in reversed(range(_ROUNDS)):
            left, right = right ^ self._mix(number, left), left
        return (left, right) if max(left, right) <= MOST_SEQUENCE else None

    def _mix(self, number: int, half: int) -> int:
        block = bytes([number]) + half.to_bytes(8, "big")
        return int.from_bytes(hashlib.blake2b(block, key=self.key, digest_size=8).digest(), "big")


def delivery_id(key: bytes, kind: str, unit: Unit, url: str) -> str:
    """Id of a delivery, 32 hex digits: the same for the same one, and telling nothing of the unit."""
    text = f"{kind}\n{unit_text(unit)}\n{url}".encode()
    return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()


def second_phase_draw(key: bytes, unit: Unit) -> float:
    """Uniform number of a unit, [0, 1): drawn once for ever, whoever asks and how often."""
    text = f"second phase\n{unit_text(unit)}".encode()
    return int.from_bytes(hashlib.blake2b(text, key=key, digest_size=7).digest(), "big") / 2.0**56
