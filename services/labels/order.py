"""The total order of the labels of one unit: whatever order they come in, the same one counts."""

from __future__ import annotations

Rank = tuple[int, float, float, str]


def rank(version: int, observed: float | None, received: float, digest: str) -> Rank:
    """(version, observed or else received time, received time, digest): the greatest of a unit and source counts.

    Args:
        observed: when the quantity was measured or judged, seconds since 1970; None where nobody said.
        received: seconds since 1970.
        digest: sha256 of the canonical value, hex: the last word, so that two labels rank equal only if they are.
    """
    return version, received if observed is None else observed, received, digest
