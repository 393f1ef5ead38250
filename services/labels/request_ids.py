"""Ids of label requests that reveal nothing of their unit, and other keyed hashes of units."""

import hashlib
import re
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, select

from services.ledger.database import insert_missing
from services.ledger.tables import secret
from services.ledger.unit_ids import MOST_SEQUENCE, Unit, unit_text

_REQUEST = re.compile(r"[0-9a-f]{32}", re.ASCII)
_ROUNDS = 8


@dataclass(frozen=True)
class RequestIds:
    """Ids of requests: a keyed permutation of unit ids (Luby & Rackoff 1988), so that nothing has to be stored.

    The id of a request reveals neither its unit nor the order or the process of the decision.
    """

    key: bytes
    """Secret of the ledger, 32 bytes."""

    @property
    def of_list(self) -> "RequestIds":
        """Ids of the same units in the list of waiting requests, which nobody can match with these."""
        return RequestIds(hashlib.blake2b(b"list", key=self.key, digest_size=32).digest())

    def text(self, unit: Unit) -> str:
        """Return the request id of a unit: 32 hex digits."""
        left, right = unit
        for number in range(_ROUNDS):
            left, right = right, left ^ self._mix(number, right)
        return f"{left:016x}{right:016x}"

    def unit(self, text: str) -> Unit | None:
        """Return the unit of a request id, which need not exist; None where the text cannot be one of a unit."""
        if not is_request_id(text):
            return None
        left, right = int(text[:16], 16), int(text[16:], 16)
        for number in reversed(range(_ROUNDS)):
            left, right = right ^ self._mix(number, left), left
        return (left, right) if max(left, right) <= MOST_SEQUENCE else None

    def _mix(self, number: int, half: int) -> int:
        block = bytes([number]) + half.to_bytes(8, "big")
        return int.from_bytes(hashlib.blake2b(block, key=self.key, digest_size=8).digest(), "big")


def is_request_id(text: str) -> bool:
    """Return whether a text has the form of a request id: 32 hex digits."""
    return _REQUEST.fullmatch(text) is not None


def new_request_id() -> str:
    """Return a random id for a further request of a unit, which cannot be told from the ids of other requests."""
    return secrets.token_hex(16)


def delivery_id(key: bytes, kind: str, unit: Unit, url: str) -> str:
    """Return the id of a delivery, 32 hex digits: the same for equal arguments, and revealing nothing of the unit."""
    text = f"{kind}\n{unit_text(unit)}\n{url}".encode()
    return hashlib.blake2b(text, key=key, digest_size=16).hexdigest()


def unit_draw(key: bytes, purpose: str, unit: Unit) -> float:
    """Return the uniform number of a unit, [0, 1), for a purpose such as ``second phase``; always the same."""
    text = f"{purpose}\n{unit_text(unit)}".encode()
    return int.from_bytes(hashlib.blake2b(text, key=key, digest_size=7).digest(), "big") / 2.0**56


def shared_secret(connection: Connection, name: str) -> bytes:
    """Return 32 random bytes that are the same for every process of a ledger; the first that needs them makes them."""
    query = select(secret.c.value).where(secret.c.name == name)
    if connection.scalar(query) is None:
        connection.execute(insert_missing(connection, secret), {"name": name, "value": secrets.token_bytes(32)})
    return bytes(connection.scalars(query).one())
