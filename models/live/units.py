"""Columns of decided units and of their labels, and the newest units of a stream."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

ANSWER = 1
"""Code of the decision to answer; all other codes defer."""
CENSUS = "census"
"""Source of the labels of a declared population."""
BLIND = "blind"
"""Source of those requested labels that were given without sight of the prediction, where they are compared."""

Longs = NDArray[np.int64]
Doubles = NDArray[np.float64]


class StreamKey(NamedTuple):
    """Identity of a stream: one head of one artefact."""

    task: str
    head: str
    model: str
    """Tag of the artefact."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Arrays of one length [n] that name units."""

    epoch: Longs
    sequence: Longs

    def __len__(self) -> int:
        return len(self.epoch)

    def take(self, rows: Any) -> Self:
        """Return the rows of a mask, a slice or indices."""
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    @property
    def words(self) -> NDArray[np.uint64]:
        """Hash of each unit for look-ups [n]; epochs are random, so that hashes of two processes differ."""
        spread = self.epoch.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        words: NDArray[np.uint64] = spread + self.sequence.astype(np.uint64)
        return words

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Concatenate at least one part, in order."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


@dataclass(frozen=True, slots=True)
class Units(Columns):
    """Decided units [n]."""

    time: Doubles
    """Time of the decision, seconds since 1970."""
    uncertainty: NDArray[np.float32]
    decision: NDArray[np.uint8]
    propensity: Doubles

    @property
    def answered(self) -> NDArray[np.bool_]:
        answered: NDArray[np.bool_] = self.decision == ANSWER
        return answered

    @property
    def order(self) -> NDArray[np.intp]:
        """Indices that sort by time, with ties broken independently of the order of reading [n]."""
        return np.lexsort((self.sequence, self.epoch, self.time))

    @property
    def is_ordered(self) -> bool:
        """True if the units are already sorted by ``order``, which is the usual case."""
        step = np.diff(self.time)
        if not (step >= 0).all():
            return False
        follows = (np.diff(self.sequence) > 0) & (self.epoch[1:] == self.epoch[:-1])
        return bool(follows[step == 0].all())

    def sorted(self) -> Self:
        """Return the units sorted by ``order``."""
        return self if self.is_ordered else self.take(self.order)


@dataclass(frozen=True, slots=True)
class Labels(Units):
    """Errors of units [n], by the labels of one source."""

    error: Doubles
    """Error in the head's error unit."""
    received: Doubles
    """Receipt of the label that counts, seconds since 1970."""


def no_units() -> Units:
    """Return columns without rows."""
    longs = np.empty(0, np.int64)
    return Units(longs, longs, np.empty(0), np.empty(0, np.float32), np.empty(0, np.uint8), np.empty(0))


class RecentUnits:
    """Newest units by time, at most ``capacity``, independently of the order in which they are added."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = no_units()
        self._added: list[Units] = []
        self._pending = 0

    def __len__(self) -> int:
        return len(self.units)

    def add(self, units: Units) -> None:
        """Add units, each once."""
        if not len(units):
            return
        self._added.append(units)
        self._pending += len(units)
        if self._pending > self._capacity:  # a long history is read: keep no more of it than needed
            self._settle()

    @property
    def units(self) -> Units:
        """Units in the order of ``Units.order``."""
        self._settle()
        return self._held

    def since(self, start: float) -> Units | None:
        """Return the units decided at ``start`` or later; None if some of them may have been dropped."""
        units = self.units
        first = int(np.searchsorted(units.time, start))
        return None if first == 0 and len(units) >= self._capacity else units.take(slice(first, None))

    def newest(self, count: int) -> Units:
        """Return the last units, at most ``count``."""
        units = self.units
        return units.take(slice(max(0, len(units) - count), None))

    def _settle(self) -> None:
        if not self._added:
            return
        units = Units.join([self._held, *self._added]).sorted()
        self._added, self._pending = [], 0
        self._held = units.take(slice(max(0, len(units) - self._capacity), None))
        if len(units) > len(self._held):  # a slice would keep the removed part in memory
            self._held = Units.join([self._held])
