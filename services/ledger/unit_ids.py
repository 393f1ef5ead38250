"""Identities of units: the epoch of the deciding process and a sequence number, and their text form."""

import re
from dataclasses import dataclass

from services.runtime.errors import InvalidInput

Unit = tuple[int, int]
"""Epoch of the process that decided, and sequence number."""
MOST_SEQUENCE = 2**63 - 1
_TEXT = re.compile(r"([0-9a-f]{16})-(0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class UnitIds:
    """Identities of consecutive units: (epoch of the deciding process, first + i)."""

    epoch: int
    first: int
    count: int

    @property
    def prefix(self) -> str:
        """Common start of the identities: sixteen hex digits of the epoch, and a hyphen."""
        return f"{self.epoch:016x}-"

    def text(self, index: int) -> str:
        """Return the identity of one unit: sixteen hex digits, a hyphen, the sequence number."""
        return unit_text((self.epoch, self.first + index))

    def texts(self) -> list[str]:
        """Return the identities of all units, as ``text`` writes them; the digits of the epoch are made only once."""
        prefix = self.prefix
        return [f"{prefix}{sequence}" for sequence in range(self.first, self.first + self.count)]


def unit_text(unit: Unit) -> str:
    """Return sixteen hex digits, a hyphen and the sequence number."""
    return f"{unit[0]:016x}-{unit[1]}"


def parse_unit(text: str) -> Unit:
    """Parse a unit id as answers give it.

    Raises:
        InvalidInput: the text is not a unit id.
    """
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise bad_unit(str(text)[:80])
    return checked_unit(int(match[1], 16), int(match[2]))


def checked_unit(epoch: int, sequence: int) -> Unit:
    """Return the unit of an epoch and a sequence number.

    Raises:
        InvalidInput: one of them is outside [0, 2⁶³ - 1].
    """
    if not 0 <= epoch <= MOST_SEQUENCE or not 0 <= sequence <= MOST_SEQUENCE:
        raise bad_unit(f"{epoch:016x}-{sequence}")
    return epoch, sequence


def bad_unit(text: str) -> InvalidInput:
    """Return the error for a text that is not a unit id."""
    return InvalidInput.about(
        "unit",
        text,
        "must be an id from the prediction_ids of an answer: sixteen hex digits, a hyphen, a number",
        code="bad_unit",
        allowed="0123456789abcdef-0",
    )
