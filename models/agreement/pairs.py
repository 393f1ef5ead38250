"""Pairs of labels that two reviewers gave the same unit, overall, by pair of reviewers, and by reviewer."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from models.agreement.bounds import Bounds
from models.agreement.means import Float64, Indices, codes, plain


@dataclass(frozen=True)
class LabelPairs:
    """Pairs of labels [P]; create with ``label_pairs``."""

    unit: NDArray[Any]
    """Unit of each pair [P]."""
    first: NDArray[Any]
    """Reviewer of the first label [P]."""
    second: NDArray[Any]
    """Reviewer of the second label [P], another one."""
    difference: Float64
    """Difference of both labels, see ``LabelRule.difference`` [P]; NaN if there is none."""
    first_value: Float64 | None = None
    """First label as a number or class [P]; None for masks, texts and positions."""
    second_value: Float64 | None = None
    """Second label [P]."""

    def __len__(self) -> int:
        return len(self.unit)

    def take(self, places: NDArray[Any]) -> LabelPairs:
        """Return the pairs of a mask [P] or of indices."""
        values = (None if part is None else part[places] for part in (self.first_value, self.second_value))
        columns = (part[places] for part in (self.unit, self.first, self.second, self.difference))
        return LabelPairs(*columns, *values)

    def turned(self, places: NDArray[np.bool_]) -> LabelPairs:
        """Return the pairs with first and second label exchanged at a mask [P]."""
        columns = [
            (None, None) if a is None or b is None else (np.where(places, b, a), np.where(places, a, b))
            for a, b in ((self.first, self.second), (self.first_value, self.second_value))
        ]
        (first, second), (first_value, second_value) = columns
        return LabelPairs(self.unit, first, second, self.difference, first_value, second_value)  # type: ignore[arg-type]

    def labels(self) -> LabelTable:
        """Return the labels of all pairs, each once.

        Raises:
            ValueError: the labels are no numbers or classes.
        """
        if self.first_value is None or self.second_value is None:
            raise ValueError("values: must be the labels as numbers or classes; got none: use the difference measure")
        (unit,) = codes(np.concatenate([self.unit, self.unit]))
        (reviewer,) = codes(np.concatenate([self.first, self.second]))
        values = np.concatenate([self.first_value, self.second_value])
        kept = np.flatnonzero(np.isfinite(values))
        kept = kept[np.unique(np.stack([unit[kept], reviewer[kept]]), axis=1, return_index=True)[1]]
        return LabelTable(unit[kept], reviewer[kept], values[kept])


@dataclass(frozen=True)
class LabelTable:
    """Labels as numbers or classes [L], one of a reviewer and unit."""

    unit: Indices
    reviewer: Indices
    value: Float64


@dataclass(frozen=True)
class Agreement(Bounds):
    """Measure of agreement with its interval."""

    pairs: int
    units: int
    reviewers: int


Measure = Callable[[LabelPairs], Agreement]


def agreement(bounds: Bounds, pairs: LabelPairs) -> Agreement:
    """Return bounds with the numbers of pairs, units and reviewers that they rest on."""
    reviewers = np.unique(np.concatenate([pairs.first, pairs.second]))
    return Agreement(bounds.mean, bounds.lower, bounds.upper, len(pairs), len(np.unique(pairs.unit)), len(reviewers))


def label_pairs(
    units: ArrayLike,
    reviewers: ArrayLike,
    difference: Callable[[int, int], float],
    values: ArrayLike | None = None,
) -> LabelPairs:
    """Return all pairs of labels of one unit by different reviewers; the first reviewer sorts before the second.

    Args:
        units: unit of each label [L].
        reviewers: reviewer of each label [L].
        difference: difference of two labels by their positions in these arrays.
        values: the labels as numbers or classes [L]; None for masks, texts and positions.

    Raises:
        ValueError: arrays of different lengths.
    """
    unit, reviewer = np.asarray(units), np.asarray(reviewers)
    value = None if values is None else np.asarray(values, np.float64)
    if unit.shape != reviewer.shape or (value is not None and value.shape != unit.shape):
        shapes = [list(part.shape) for part in (unit, reviewer, value) if part is not None]
        raise ValueError(f"units, reviewers and values have the shapes {shapes}: must be [L], one entry a label")
    order = np.lexsort((reviewer, unit))
    starts = np.flatnonzero(unit[order][1:] != unit[order][:-1]) + 1
    places = [
        (int(one), int(other))
        for group in np.split(order, starts)
        for rank, one in enumerate(group)
        for other in group[rank + 1 :]
        if reviewer[one] != reviewer[other]
    ]
    one, other = np.array(places, np.intp).reshape(-1, 2).T
    return LabelPairs(
        *(unit[one], reviewer[one], reviewer[other]),
        np.array([difference(*pair) for pair in places], np.float64),
        *((None, None) if value is None else (value[one], value[other])),
    )


def by_pair(pairs: LabelPairs, measure: Measure) -> dict[tuple[Hashable, Hashable], Agreement]:
    """Return a measure for each two reviewers who labelled the same units, in order of their names."""
    pairs = pairs.turned(pairs.first > pairs.second)
    first, second = codes(pairs.first, pairs.second)
    group = first * (int(second.max(initial=0)) + 1) + second
    parts = (pairs.take(group == own) for own in np.unique(group))
    return {(plain(part.first[0]), plain(part.second[0])): measure(part) for part in parts}


def by_reviewer(pairs: LabelPairs, measure: Measure) -> dict[Hashable, Agreement]:
    """Return a measure for each reviewer against all others, in order of their names."""
    names = np.unique(np.concatenate([pairs.first, pairs.second]))
    return {
        plain(name): measure(pairs.turned(pairs.second == name).take((pairs.first == name) | (pairs.second == name)))
        for name in names
    }
