"""Units with a label request, the states of their requests, and the errors by their labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.live.units import Columns, Doubles, Labels, Units, no_units


class RequestState(IntEnum):
    """State of a request; the label service uses the names in lower case."""

    REQUESTED = 0
    CLAIMED = 1
    LABELLED = 2
    SKIPPED = 3
    EXPIRED = 4
    UNLABELABLE = 5
    UNASKED = 6
    """No request; labels can come only from a census."""


OPEN_STATES = (RequestState.REQUESTED, RequestState.CLAIMED)


@dataclass(frozen=True, slots=True)
class RequestedUnits(Units):
    """Units [n] with a label request, or under a census."""

    state: NDArray[np.uint8]
    """``RequestState`` of each request."""
    census: NDArray[np.bool_]
    """Mask of the units decided while a census was declared."""

    @property
    def has_request(self) -> NDArray[np.bool_]:
        """Mask of the units with a request [n]."""
        mask: NDArray[np.bool_] = self.state != RequestState.UNASKED
        return mask

    @property
    def open(self) -> NDArray[np.bool_]:
        """Mask of the requests that wait for a label [n]."""
        return np.isin(self.state, OPEN_STATES)


@dataclass(frozen=True, slots=True)
class StateChanges(Columns):
    """Changes of requests [n], in the order in which they happened."""

    state: NDArray[np.uint8]
    second: Doubles
    """Probability of the second-phase draw that repeated the request; NaN for other changes."""


@dataclass(frozen=True, slots=True)
class RequestFlow:
    """Numbers of requests within a span of time."""

    arrived: int
    labelled: int
    seconds: float
    """Length of the span, or the age of the first request if that is less; 0 without requests."""


class LabelRequests:
    """Newest requested units, at most ``capacity``; units and labels may be added in any order."""

    def __init__(self, capacity: int, sources: Sequence[str]) -> None:
        self._capacity = capacity
        none = no_units()
        self.units = RequestedUnits(
            *(none.epoch, none.sequence, none.time, none.uncertainty, none.decision, none.propensity),
            *(np.empty(0, np.uint8), np.empty(0, bool)),
        )
        self.second: Doubles = np.empty(0)
        """Probability of the second-phase draw [n]; NaN if there was none."""
        self.error: dict[str, Doubles] = {source: np.empty(0) for source in sources}
        """Error by the labels of each source [n]; NaN without a label."""
        self.received: dict[str, Doubles] = {source: np.empty(0) for source in sources}
        """Receipt of these labels [n], seconds since 1970; NaN without a label."""
        self._index: tuple[NDArray[np.uint64], NDArray[np.intp]] | None = None

    def __len__(self) -> int:
        return len(self.units)

    def add(self, units: RequestedUnits) -> None:
        """Add units, each once."""
        if not len(units):
            return
        blank = np.full(len(units), np.nan)
        self.units = RequestedUnits.join([self.units, units])
        self.second = np.concatenate([self.second, blank])
        for columns in (self.error, self.received):
            for source, values in columns.items():
                columns[source] = np.concatenate([values, blank])
        self._index = None
        if len(self) > self._capacity:
            newest = np.arange(len(self)) if self.units.is_ordered else self.units.order
            self._keep(np.sort(newest[-self._capacity :]))

    def advance(self, changes: StateChanges) -> None:
        """Apply changes of requests; those of units that are not held are ignored."""
        rows, held = self.find(changes)
        changed = changes.take(held)
        self.units.state[rows] = changed.state  # the last of several rows of one unit is written last
        drawn = np.isfinite(changed.second)
        self.second[rows[drawn]] = changed.second[drawn]

    def label(self, source: str, labels: Labels) -> None:
        """Set the errors of units."""
        rows, held = self.find(labels)
        self.error[source][rows] = labels.error[held]
        self.received[source][rows] = labels.received[held]

    def unlabel(self, source: str, labels: Labels) -> None:
        """Remove the errors of units."""
        rows, _ = self.find(labels)
        self.error[source][rows] = np.nan
        self.received[source][rows] = np.nan

    def forget(self, before: float) -> None:
        """Drop units decided before a time, seconds since 1970."""
        if len(self) and self.units.time.min() < before:
            self._keep(np.flatnonzero(self.units.time >= before))

    def find(self, units: Columns) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the rows of those units [m] that are held, and a mask of these units [n]."""
        if self._index is None:
            words = self.units.words
            order = np.argsort(words, kind="stable")
            self._index = words[order], order
        words, order = self._index
        if not len(words):
            return np.empty(0, np.intp), np.zeros(len(units), bool)
        unit_words = units.words
        place = np.minimum(np.searchsorted(words, unit_words), len(words) - 1)
        held = words[place] == unit_words
        return order[place[held]], held

    def flow(self, since: float, now: float) -> RequestFlow:
        """Return how many requests came, and how many were labelled, between two times, seconds since 1970."""
        requested = self.units.has_request
        if not requested.any():
            return RequestFlow(0, 0, 0.0)
        times, received = self.units.time[requested], self.received["requested"]
        with np.errstate(invalid="ignore"):  # NaN: without a label
            labelled = int((received >= since).sum())
        return RequestFlow(int((times >= since).sum()), labelled, now - max(since, float(times.min())))

    def _keep(self, rows: NDArray[Any]) -> None:
        self.units = self.units.take(rows)
        self.second = self.second[rows]
        for columns in (self.error, self.received):
            for source, values in columns.items():
                columns[source] = values[rows]
        self._index = None
