"""Precedence of the labels of one unit: the same one counts, in whatever order they arrive."""

from sqlalchemy import FromClause, Tuple, func, tuple_

Rank = tuple[int, float, float, str]


def rank(version: int, observed: float | None, received: float, digest: str) -> Rank:
    """Return (version, observed or else received time, received time, digest); the greatest of a unit and
    source counts.

    Args:
        observed: when the quantity was measured or judged, seconds since 1970; None: unknown.
        received: seconds since 1970.
        digest: sha256 of the canonical value, hex, the tie-breaker: labels of equal rank are equal.
    """
    return version, received if observed is None else observed, received, digest


def rank_of(labels: FromClause) -> Tuple:
    """Return the rank of a label as an SQL expression over the rows of the table of labels, or of an alias of it."""
    columns = labels.c
    return tuple_(columns.version, func.coalesce(columns.observed, columns.received), columns.received, columns.digest)
