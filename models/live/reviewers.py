"""Opinions of reviewers about units that have another label, and the labels that they gave, of one head."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest

HeadKey = tuple[str, str]
"""Task and head."""
MOST_OPINIONS = 20_000
"""Newest opinions of a head that are held."""
MOST_REVIEWS = 50_000
"""Newest labels by reviewers of a head that are held."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """Label of a unit that has another one: a second opinion, or a label of a known unit."""

    request: str
    """Id of its request, by which a later version replaces an earlier one."""
    unit: tuple[int, int]
    known: bool
    """True: the other label is of a census or adjudicated, and stands for the truth."""
    reviewer: str
    other: str
    """Author of the other label; empty for a known unit."""
    received: float
    """Seconds since 1970."""
    difference: float
    """Difference of both labels, see ``models.label_errors.LabelRule.difference``; NaN: they cannot be compared."""
    value: float | None = None
    """The label where it is one number or class; else None."""
    other_value: float | None = None
    seconds: float = math.nan
    """Time that the reviewer took; NaN if unknown."""

    @property
    def unit_id(self) -> str:
        """Identity of the unit as text."""
        return f"{self.unit[0]:016x}-{self.unit[1]}"


@dataclass(frozen=True, slots=True)
class Review:
    """Label that a person gave for a request."""

    reviewer: str
    received: float
    """Seconds since 1970."""
    seconds: float
    """Time that it took."""


class ReviewerRecords:
    """Newest opinions and reviews of one head; the same additions in any order give the same records."""

    def __init__(self, most_opinions: int = MOST_OPINIONS, most_reviews: int = MOST_REVIEWS) -> None:
        self._most_opinions, self._most_reviews = most_opinions, most_reviews
        self._opinions: dict[str, Opinion] = {}
        self._reviews: list[Review] = []
        self.changes = 0
        """Number that grows with every change."""

    def add(self, opinions: Iterable[Opinion], reviews: Iterable[Review]) -> None:
        """Add new opinions and reviews, and replace opinions that have changed."""
        before = len(self._reviews)
        self._reviews.extend(reviews)
        added = {opinion.request: opinion for opinion in opinions}
        self._opinions |= added
        self.changes += bool(added) or len(self._reviews) > before
        if len(self._opinions) > 2 * self._most_opinions:
            self._opinions = {opinion.request: opinion for opinion in self.opinions}
        if len(self._reviews) > 2 * self._most_reviews:
            self._reviews = list(self.reviews)

    def forget(self, since: float) -> None:
        """Drop what was received before a time, seconds since 1970."""
        opinions = {key: opinion for key, opinion in self._opinions.items() if opinion.received >= since}
        reviews = [review for review in self._reviews if review.received >= since]
        if len(opinions) < len(self._opinions) or len(reviews) < len(self._reviews):
            self._opinions, self._reviews = opinions, reviews
            self.changes += 1

    @property
    def opinions(self) -> tuple[Opinion, ...]:
        """Newest opinions, by the time of their receipt."""
        order = [(opinion.received, opinion.request) for opinion in self._opinions.values()]
        return tuple(self._opinions[request] for _, request in sorted(nlargest(self._most_opinions, order)))

    @property
    def reviews(self) -> tuple[Review, ...]:
        """Newest reviews, by the time of their receipt."""
        key = _order
        return tuple(sorted(nlargest(self._most_reviews, self._reviews, key=key), key=key))


def _order(review: Review) -> tuple[float, str, float]:
    return review.received, review.reviewer, review.seconds
