"""What the monitor knows of units, in columns: decided units, those that a label was asked for, and found errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from services.policy.decision import Decision

CENSUS = "census"
"""Source of the labels of a declared population."""

Longs = NDArray[np.int64]
Doubles = NDArray[np.float64]


class Key(NamedTuple):
    """What is judged together: one head of one artefact."""

    task: str
    head: str
    model: str
    """Tag of the artefact."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays of one length [n]."""

    epoch: Longs
    sequence: Longs

    def __len__(self) -> int:
        return len(self.epoch)

    def take(self, chosen: Any) -> Self:
        """The rows of a mask, a slice or indices."""
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """All rows, in order; at least one part."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class Units(Columns):
    """Decided units [n]."""

    time: Doubles
    """Of the decision, seconds since 1970."""
    uncertainty: NDArray[np.float32]
    decision: NDArray[np.uint8]
    propensity: Doubles

    @property
    def answered(self) -> NDArray[np.bool_]:
        answered: NDArray[np.bool_] = self.decision == Decision.ANSWER
        return answered

    @property
    def order(self) -> NDArray[np.intp]:
        """By time, and among equal times always the same way, whoever was read first [n]."""
        return np.lexsort((self.sequence, self.epoch, self.time))


@dataclass(frozen=True, slots=True)
class Labels(Units):
    """Errors that were found for units [n], of one source."""

    error: Doubles
    """In the head's error unit."""
    received: Doubles
    """When the label that counts was received, seconds since 1970."""


def no_units() -> Units:
    longs = np.empty(0, np.int64)
    return Units(longs, longs, np.empty(0), np.empty(0, np.float32), np.empty(0, np.uint8), np.empty(0))


def ordered(units: Units) -> bool:
    """Whether units [n] are in the order of ``Units.order`` already, as they mostly are."""
    step = np.diff(units.time)
    if not (step >= 0).all():
        return False
    tied = step == 0
    follows = (np.diff(units.sequence) > 0) & (units.epoch[1:] == units.epoch[:-1])
    return bool(follows[tied].all())


def names(epoch: Longs, sequence: Longs) -> NDArray[np.uint64]:
    """One word for each unit [n], to look it up by; epochs are random, so that no two processes' words meet."""
    spread = epoch.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word: NDArray[np.uint64] = spread + sequence.astype(np.uint64)
    return word
