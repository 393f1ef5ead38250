"""The total order of the labels of one unit: whatever order they come in, the same one counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Rank = tuple[int, float, float, str]


@dataclass(frozen=True, slots=True)
class Stored:
    """What orders a label that is in the ledger."""

    version: int
    observed: float | None
    """When the quantity was measured or judged, seconds since 1970; None where nobody said."""
    received: float
    digest: str
    """sha256 of the canonical value, hex: the last word, so that two labels rank equal only if they are."""

    @property
    def rank(self) -> Rank:
        """(version, observed or else received time, received time, digest): the greatest counts."""
        return rank(self.version, self.observed, self.received, self.digest)


def rank(version: int, observed: float | None, received: float, digest: str) -> Rank:
    """As ``Stored.rank``."""
    return version, received if observed is None else observed, received, digest


def greatest(labels: Iterable[Stored]) -> Stored | None:
    """The label that counts among those of one unit and one source; None where there is none."""
    return max(labels, key=lambda label: label.rank, default=None)
