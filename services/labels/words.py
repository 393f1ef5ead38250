"""What callers of labels say and are told, and what a desk needs of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from models.head import Head
from services.labels.feed import Claimed
from services.labels.given import Rejection, Source
from services.labels.identity import Unit, unit_text
from services.labels.resolution import Status
from services.labels.values import to_json
from services.ledger.writer import Place
from services.runtime.errors import InvalidInput

T = TypeVar("T")
MOST_CLAIMED = 100
LEASE_SECONDS = (1.0, 86_400.0)
DEFAULT_LEASE_SECONDS = 900.0
MOST_WAIT_SECONDS = 60.0
MOST_UNITS = 10_000
"""Of one question about resolutions."""


class Book(Protocol):
    """What writes and reads the ledger, as a ``Writer`` does."""

    async def run(self, change: Callable[[Connection, Place], T], *, seconds: float | None = None) -> T: ...

    async def read(self, query: Callable[[Connection], T]) -> T: ...


class Eraser(Protocol):
    """What forgets units, as an ``Erasure``."""

    async def erase(self, units: Iterable[Unit], actor: str, reason: str) -> int: ...


class Blobs(Protocol):
    """Where large values are, as a ``Store``; both may take long."""

    def put(self, content: bytes) -> str: ...

    def get(self, reference: str) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Options:
    """What an operator decides; see ``services.runtime.settings``."""

    census: tuple[str, ...] = ()
    request_days: float = 30.0
    second_phase: float = 0.0
    callbacks: tuple[str, ...] = ()
    most_labels: int = 262_144


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of labels, in their order."""

    outcomes: bytes
    """Values of ``Outcome``, one byte a label."""
    rejected: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A request for a label, for who labels."""

    claimed: Claimed
    head: Head
    input: dict[str, Any] | None
    """As JSON, see ``services.labels.values``; None where inputs are not kept."""
    payload: bytes | None = None
    """The same as bytes."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a unit, for callers; the fields behind ``state`` are of its label, where it has one."""

    unit: Unit
    status: Status
    state: str
    head: str
    value: object = None
    """As ``models.label_errors`` gives it: number, text, positions, bytes of a file."""
    label: str = ""
    """What a label is, with its unit."""
    source: Source | None = None
    version: int = 0
    observed: float | None = None
    received: float = 0.0
    """Seconds since 1970."""

    def json(self) -> dict[str, Any]:
        """As a JSON object."""
        found: dict[str, Any] = {"unit": unit_text(self.unit), "status": self.status}
        found |= {name: word for name, word in (("head", self.head), ("state", self.state)) if word}
        if self.source is None:
            return found
        return found | {
            "value": to_json(self.value),
            "label": self.label,
            "source": self.source,
            "version": self.version,
            "observed": self.observed,
            "received": self.received,
        }


def check_units(units: Sequence[Unit]) -> None:
    """
    Raises:
        InvalidInput: none, or more than one question may have.
    """
    check_range("units", len(units), 1, MOST_UNITS, "units")


def check_lease(seconds: float) -> None:
    """
    Raises:
        InvalidInput: nobody may keep a request so long, or so briefly.
    """
    check_range("seconds", seconds, *LEASE_SECONDS, "s")


def check_range(field: str, value: float, lower: float, upper: float, unit: str) -> None:
    """
    Raises:
        InvalidInput: the value is outside its closed range; NaN is.
    """
    if not lower <= value <= upper:
        try:
            told = f"{value:g}"
        except OverflowError:  # a whole number of hundreds of digits
            told = "a number beyond 1e308"
        raise InvalidInput(
            f"{field} = {told} {unit}: {lower:g} to {upper:g} {unit} are allowed",
            code="out_of_range",
            field=field,
            value=told,
            unit=unit,
            allowed=f"[{lower:g}, {upper:g}]",
        )
