"""Named numeric inputs with units and physical ranges: the contract of every tabular task."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Feature:
    """Input column with its unit and the closed range that is physically possible."""

    name: str
    unit: str
    lower: float
    upper: float
    description: str
    nullable: bool = False
    """True if NaN is a documented missing value and passes validation."""
    sentinels: tuple[float, ...] = ()
    """Documented values outside the range that mean "missing", e.g. -9999; they pass validation unchanged."""
    values: tuple[float, ...] = ()
    """Only possible values, e.g. 0 and 1 for a flag; empty if all values within the range are possible."""
    categories: tuple[str, ...] = ()
    """Texts of a categorical column in the order of their codes 0, 1, …, which are its values; empty for numbers."""
    other: bool = False
    """True if other texts than the categories are accepted, to be deferred; their code is the number of categories."""

    def text(self, code: float) -> str:
        """Return the text of a code; empty for a missing value, and ``(other)`` for a text that is no category."""
        if not math.isfinite(code):
            return ""
        return self.categories[int(code)] if 0 <= code < len(self.categories) else "(other)"

    @property
    def unit_text(self) -> str:
        """Suffix of a number in messages: a blank and the unit; empty for a unit of 1."""
        return "" if self.unit == "1" else f" {self.unit}"


@dataclass(frozen=True)
class Schema:
    """Ordered set of features. The order is that of packed columns on the wire."""

    features: tuple[Feature, ...]
    metadata: tuple[str, ...] = ()
    """Further columns in files of the task (time, place, labels): accepted by name and ignored."""

    def __post_init__(self) -> None:
        names = [feature.name for feature in self.features]
        doubled = {name for name in names if names.count(name) > 1}
        doubled |= set(names) & set(self.metadata)
        if not names or doubled:
            raise ValueError(f"a schema needs at least one feature and no doubled names; doubled: {sorted(doubled)}")
        for feature in self.features:
            codes = tuple(float(code) for code in range(len(feature.categories) + feature.other))
            wrong = len(set(feature.categories)) < len(feature.categories) or feature.values != codes
            if (feature.categories and wrong) or (feature.other and not feature.categories):
                raise ValueError(
                    f"{feature.name}: categories must be different texts, and values their codes from 0 on, with one "
                    "more for other texts"
                )

    @classmethod
    def of(cls, features: Iterable[Feature]) -> Schema:
        return cls(tuple(features))

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @cached_property
    def position(self) -> dict[str, int]:
        """Column index of each feature name."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def hash(self) -> str:
        """Sixteen hex digits over names, order, units and categories; wider ranges do not break callers."""
        text = "\n".join(f"{feature.name}\t{feature.unit}{_categories(feature)}" for feature in self.features)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def codes(self) -> Mapping[int, Mapping[Any, float]]:
        """Column of a categorical feature to the code of each text; None is a missing value, and its code NaN."""
        return {
            place: {text: float(code) for code, text in enumerate(feature.categories)}
            | ({None: math.nan} if feature.nullable else {})
            for place, feature in enumerate(self.features)
            if feature.categories
        }

    @cached_property
    def lower(self) -> NDArray[np.float32]:
        """Physical minimum of each column, float32 [F]."""
        return np.array([feature.lower for feature in self.features], np.float32)

    @cached_property
    def upper(self) -> NDArray[np.float32]:
        """Physical maximum of each column, float32 [F]."""
        return np.array([feature.upper for feature in self.features], np.float32)

    @cached_property
    def sentinels(self) -> tuple[tuple[int, np.float32], ...]:
        """Column and value of each documented sentinel."""
        return tuple((i, np.float32(value)) for i, feature in enumerate(self.features) for value in feature.sentinels)

    @cached_property
    def enumerated(self) -> tuple[tuple[int, NDArray[np.float32]], ...]:
        """Columns with a list of possible values, and these values."""
        columns = ((index, feature.values) for index, feature in enumerate(self.features) if feature.values)
        return tuple((index, np.array(values, np.float32)) for index, values in columns)

    def missing(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the missing values of rows [N, F]: NaN, or a documented sentinel (compared in float32)."""
        mask: NDArray[np.bool_] = np.isnan(rows)
        for position, value in self.sentinels:
            mask[:, position] |= rows[:, position].astype(np.float32, copy=False) == value
        return mask

    @cached_property
    def nullable(self) -> NDArray[np.bool_]:
        """Mask of the columns in which NaN is a documented missing value, bool [F]."""
        return np.array([feature.nullable for feature in self.features])


def _categories(feature: Feature) -> str:
    """Return the categories for the hash, which is that of names and units without them."""
    return f"\t{json.dumps(feature.categories)}" if feature.categories else ""
